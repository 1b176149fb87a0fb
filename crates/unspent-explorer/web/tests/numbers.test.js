import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decimal, pieces, power, shown, spoken, superscript } from '../charts/numbers.js';

test('powers of ten are written with a mantissa, and plainly near 1', () => {
  assert.equal(power(-10), '1.00×10⁻¹⁰');
  assert.equal(power(-Infinity), '0');
  assert.equal(power(0), '1.00');
  assert.equal(power(-1), '0.100');
  assert.equal(power(2), '100');
  // A mantissa that rounds to ten moves the exponent.
  assert.equal(power(-5.00001), '1.00×10⁻⁵');
  assert.equal(power(-43000.5), '3.16×10⁻⁴³⁰⁰¹');
});

test('decimals have five digits, and a real minus sign', () => {
  assert.equal(decimal(0), '0');
  assert.equal(decimal(-1.23456789), '−1.2346');
  assert.equal(decimal(123456.789), '123456.79');
  assert.equal(decimal(1.5e-7), '1.500×10⁻⁷');
  assert.equal(decimal(-2e9), '−2.000×10⁹');
});

test('what is not there is zero on a log axis and unknown on another', () => {
  assert.equal(shown(null, 'log10'), '0');
  assert.equal(shown(null, 'linear'), '–');
  assert.equal(shown(-3, 'log10'), '1.00×10⁻³');
  assert.equal(shown(NaN, 'linear'), '–');
});

test('superscripts are raised, and can be said aloud', () => {
  assert.equal(superscript(-120), '⁻¹²⁰');
  assert.deepEqual(pieces('10⁻⁹ of'), [
    { raised: false, text: '10' }, { raised: true, text: '−9' }, { raised: false, text: ' of' },
  ]);
  assert.deepEqual(pieces(''), []);
  assert.equal(spoken('δ ≤ 10⁻⁵'), 'δ ≤ 10^−5');
});
