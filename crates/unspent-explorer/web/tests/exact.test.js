import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rational, number, shown } from '../explorer/exact.js';

const parsed = (text) => String(Rational.parse(text));

test('numbers are read exactly, as the program reads them', () => {
  assert.equal(parsed('104/4099'), '104/4099');
  assert.equal(parsed('0.25'), '1/4');
  assert.equal(parsed(' 3.65 '), '73/20');
  assert.equal(parsed('1e-10'), '1/10000000000');
  assert.equal(parsed('2.5e3/1e1'), '250');
  assert.equal(parsed('-.5'), '-1/2');
  assert.equal(parsed('0.1'), '1/10', 'not the double next to it');
});

test('what is no number is refused with a hint', () => {
  for (const [text, hint] of [
    ['50 %', /part of 1/], ['1,5', /decimal point/], ['a third', /decimal or a fraction/],
    ['', /Not a number/], ['1/2/3', /Not a number/], ['1/0', /other than zero/], ['1e99999', /exponent/],
    ['.', /Not a number/], ['1'.repeat(5000), /Not a number/],
  ]) {
    assert.throws(() => Rational.parse(text), hint, text);
  }
});

test('arithmetic is exact', () => {
  const [a, b] = ['1/3', '1/6'].map(number);
  assert.equal(String(a.plus(b)), '1/2');
  assert.equal(String(a.minus(b)), '1/6');
  assert.equal(String(a.times(b)), '1/18');
  assert.equal(String(a.over(b)), '2');
  assert.equal(String(a.over(number('-1/6'))), '-2');
  assert.equal(a.compare(b), 1);
  assert.equal(a.compare(number('0.3333333333333333')), 1);
  assert.equal(number('2/6').compare(a), 0);
});

/** Rounded outward: what is shown is on the right side of the value and within one unit of the last digit. */
test('shortened numbers are rounded up or down, never to nearest', () => {
  assert.equal(number('2/3').fixed(4, true), '0.6667');
  assert.equal(number('2/3').fixed(4, false), '0.6666');
  assert.equal(number('-2/3').fixed(2, true), '−0.66');
  assert.equal(number('-2/3').fixed(2, false), '−0.67');
  assert.equal(number('1/8').fixed(3, true), '0.125');
  assert.equal(number('1e-30').fixed(4, true), '0.0001');
  assert.equal(number('1e-30').fixed(4, false), '0.0000');
  for (let n = 1n; n < 200n; n++) {
    for (const d of [7n, 13n, 4099n, 10n ** 12n + 39n]) {
      const value = new Rational(n, d);
      for (const up of [true, false]) {
        for (const text of [value.fixed(5, up), value.short(4, up), shown(`${n}/${d}`, up)]) {
          const side = Rational.parse(text).compare(value);
          assert.ok(up ? side >= 0 : side <= 0, `${n}/${d} ${text} ${up}`);
        }
      }
    }
  }
});

test('ε and ρ have four decimals, and three digits where they are small', () => {
  assert.equal(shown('17.89631', true), '17.8964');
  assert.equal(shown('17.89631', false), '17.8963');
  assert.equal(shown('0.0012345', true), '0.00124');
  assert.equal(shown('1.2341e-9', true), '1.24e-9');
  assert.equal(shown('0', true), '0.0000');
  // Never ten of a power, but one of the next.
  assert.equal(number('9.99999999e-11').short(5, true), '1.0000e-10');
  assert.equal(number('9.99999999e-11').short(5, false), '9.9999e-11');
});

test('the place of the first digit', () => {
  const places = { 1: 0, 9.99: 0, 10: 1, 0.01: -2, 0.00999: -3, '1/3': -1 };
  for (const text in places) assert.equal(number(text).magnitude, places[text], text);
});

test('a slider is placed near enough', () => {
  for (const text of ['1e-10', '0.25', '104/4099', '235225/64516']) {
    const [n, d = 1] = text.split('/').map(Number);
    assert.ok(Math.abs(number(text).toNumber() / (n / d) - 1) < 1e-12, text);
  }
  assert.equal(number('0').toNumber(), 0);
});
