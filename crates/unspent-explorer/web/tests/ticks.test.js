import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extent, stepOf, ticks } from '../charts/ticks.js';

const labels = (log, low, high, most = 8) => ticks(log, low, high, most).major.map(({ label }) => label);

test('steps are 1, 2 or 5 times a power of ten', () => {
  assert.deepEqual(stepOf(3), { digit: 5, exponent: 0 });
  assert.deepEqual(stepOf(0.01), { digit: 1, exponent: -2 });
  assert.deepEqual(stepOf(6), { digit: 1, exponent: 1 });
});

test('linear axes', () => {
  assert.deepEqual(labels(false, 0, 25), ['0', '5', '10', '15', '20', '25']);
  assert.deepEqual(labels(false, 0, 1), ['0', '0.2', '0.4', '0.6', '0.8', '1.0']);
  assert.deepEqual(labels(false, -3, 3), ['−3', '−2', '−1', '0', '1', '2', '3']);
  assert.equal(labels(false, 0, 6e9)[1], '1×10⁹');
});

test('log axes: decades are thinned, and within few of them the multiples are named', () => {
  assert.deepEqual(labels(true, -12, 0), ['10⁻¹²', '10⁻¹⁰', '10⁻⁸', '10⁻⁶', '10⁻⁴', '10⁻²', '1']);
  assert.equal(labels(true, -43000, 0)[0], '10⁻⁴⁰⁰⁰⁰');
  assert.deepEqual(labels(true, -7.9, -7.1), ['2×10⁻⁸', '5×10⁻⁸']);
  assert.deepEqual(labels(true, -1, 0), ['10⁻¹', '1']);
});

test('never too many ticks, always inside, no label twice', () => {
  for (const log of [false, true]) {
    for (const low of [-4300, -300.5, -7.2, -0.3, 0, 0.7, 12, 5e4]) {
      for (const span of [0.2, 0.9, 1, 3.3, 17, 61, 299, 1e5]) {
        for (let most = 2; most < 9; most++) {
          const { major, minor } = ticks(log, low, low + span, most);
          const place = `${log} ${low} ${span} ${most}`;
          const slack = 1e-5 * span + 1e-8;
          const isInside = (at) => at >= low - slack && at <= low + span + slack;
          assert.ok(major.length > 0 && major.length <= most, place);
          assert.ok(major.every(({ at }) => isInside(at)) && minor.every(isInside), place);
          assert.equal(new Set(major.map(({ label }) => label)).size, major.length, place);
        }
      }
    }
  }
});

test('no range has no ticks', () => {
  for (const [low, high] of [[1, 1], [2, 1], [NaN, 1]]) {
    assert.deepEqual(ticks(false, low, high, 8), { major: [], minor: [] });
  }
});

test('an extent holds all finite values and is never empty', () => {
  assert.deepEqual(extent([0, 23.2, NaN], false), [0, 24]);
  assert.deepEqual(extent([-11.4, 0, -Infinity], true).map((end) => end + 0), [-12, 0]);
  assert.deepEqual(extent([], false), [0, 1]);
  for (const value of [0, 3, -1e-12, 1e15]) {
    const [low, high] = extent([value], false);
    assert.ok(low < high && low <= value && value <= high, `${value}`);
  }
});
