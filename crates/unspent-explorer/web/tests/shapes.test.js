import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heights, readAt, readCategory, stopsOf, widths } from '../charts/reading.js';
import { along, cut, outline, trim } from '../charts/shapes.js';

const BOX = [0, 0, 10, 10];

test('a line is cut at the edges of a rectangle', () => {
  const pieces = cut([[-5, 5], [5, 5], [5, 1e5], [9, 1e5], [9, 9]], BOX);
  assert.deepEqual(pieces, [[[0, 5], [5, 5], [5, 10]], [[9, 10], [9, 9]]]);
  assert.deepEqual(cut([[-1, 2], [-1, 8]], BOX), []);
  // NaN leaves a gap.
  assert.equal(cut([[1, 1], [2, 2], [NaN, 3], [4, 4], [5, 5]], BOX).length, 2);
});

test('a polygon is cut at two edges', () => {
  const square = [[-5, 2], [15, 2], [15, 8], [-5, 8]];
  const found = trim(square, 0, 0, 10);
  assert.equal(found.length, 4);
  assert.ok(found.every(([x]) => x >= 0 && x <= 10));
  assert.deepEqual(trim([[20, 1], [30, 1], [30, 2]], 0, 0, 10), []);
});

test('markers stand along a line', () => {
  assert.deepEqual(along([[[0, 0], [100, 0]]], 50, 0.5), [[25, 0], [75, 0]]);
  assert.deepEqual(along([], 50, 0.5), []);
  assert.equal(outline([[0, 1], [2.345, 3]]), 'M0.00 1.00L2.35 3.00');
});

const line = { kind: 'line', values: [[0, -1], [1, -3], [2, null]] };

test('values are read where they are given, and between them as approximations', () => {
  assert.equal(readAt(line, 1, 1e-9, 'log10').text, '1.00×10⁻³');
  assert.deepEqual(readAt(line, 0.5, 1e-9, 'log10'), { text: '≈ 0.0100', ys: [-2] });
  assert.equal(readAt(line, 1.5, 1e-9, 'log10').text, '–');
  assert.equal(readAt(line, 5, 1e-9, 'log10').text, '–');
  const points = { kind: 'points', values: [{ at: 1, low: 2, value: 3, high: 4 }] };
  assert.equal(readAt(points, 1, 1e-9, 'linear').text, '3 (2 to 4)');
});

test('categories are read by their number', () => {
  const bars = { kind: 'bars', values: [{ value: 2, label: '2.0' }, { value: 3, label: '' }] };
  assert.equal(readCategory(bars, 0, 'linear').text, '2.0');
  assert.equal(readCategory(bars, 1, 'linear').text, '3');
  assert.equal(readCategory(bars, 2, 'linear').text, '–');
});

test('the crosshair stops at every x once', () => {
  const band = { kind: 'band', values: [[1 + 1e-12, 0, 1], [3, 0, 1]] };
  assert.deepEqual(stopsOf([line, band], 1e-9), [0, 1, 2, 3]);
  assert.deepEqual(heights({ kind: 'band' }, [1, 2, 3]), [2, 3]);
  assert.deepEqual(widths({ kind: 'points' }, { at: 0, low: 1, value: 2, high: 3 }, true), [1, 2, 3]);
});
