import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fits, frame, get, isDraft, isOne, renormalised, same, set, sharesOf, signed, sumOf, sumText,
} from '../explorer/draft.js';
import { draft, limits } from './drafts.js';

test('a number is found and replaced by its path, in a copy', () => {
  const before = draft();
  assert.equal(get(before, 'levels[0].shares[1].share'), '2/3');
  const after = set(before, 'levels[0].shares[1].share', '1/7');
  assert.equal(get(after, 'levels[0].shares[1].share'), '1/7');
  assert.equal(get(before, 'levels[0].shares[1].share'), '2/3');
  assert.equal(set(before, 'rho', '3').rho, '3');
});

test('what controls change is not part of the frame, everything else is', () => {
  const base = frame(draft());
  for (const [path, value] of [['rho', '2'], ['delta', '1e-6'], ['neighbours', 'add-remove'],
    ['epsilon', '1'], ['levels[0].share', '0'], ['levels[0].shares[0].share', '0']]) {
    assert.ok(same(frame(set(draft(), path, value)), base), path);
  }
  for (const [path, value] of [['name', 'x'], ['levels[0].name', 'x'], ['levels[0].shares[0].query', 'x'],
    ['production', { keep: [] }], ['attributes', []]]) {
    assert.ok(!same(frame(set(draft(), path, value)), base), path);
  }
});

test('a draft is known by its shape, and by not being too large', () => {
  assert.ok(isDraft(draft(), limits));
  for (const [path, value] of [['name', 5], ['production', null], ['rho', 'much'], ['rho', null],
    ['delta', 'x'], ['levels', []], ['levels', null], ['levels[0].share', '1e-9999'],
    ['levels[0].shares', []], ['levels[0].shares[0]', null], ['levels[1].name', null]]) {
    assert.ok(!isDraft(set(draft(), path, value), limits), `${path} ${JSON.stringify(value)}`);
  }
  const [level] = draft().levels;
  assert.ok(!isDraft({ ...draft(), levels: Array(11).fill(level) }, limits));
  const wide = { ...level, shares: Array(31).fill(level.shares[0]) };
  assert.ok(!isDraft({ ...draft(), levels: [wide] }, limits));
  for (const nothing of [null, undefined, 5, 'draft', [], {}]) assert.ok(!isDraft(nothing, limits));
});

test('a number is as long as the program takes it, and no longer', () => {
  assert.ok(fits('9'.repeat(256), limits));
  assert.ok(!fits('9'.repeat(257), limits));
  assert.ok(fits('1e-999', limits) && !fits('1e-1000', limits));
  assert.ok(!isDraft(set(draft(), 'levels[0].share', `1/${'7'.repeat(255)}`), limits));
});

test('sums are exact, and worded as such where they are short', () => {
  const sum = (texts) => sumText(sumOf(texts), texts);
  assert.ok(isOne(sumOf(['1/3', '1/6', '0.5'])));
  assert.ok(!isOne(sumOf(['0.1', '0.2', '0.7000000000000001'])));
  assert.equal(sum(['1/3', '1/3']), '2/3 ≈ 0.666666');
  assert.equal(sum(['1', '1']), '2');
  assert.match(sum(['1/1000000007', '1/1000000009']), /^≈ 1.9999999/);
  // Denominators without a common factor: too long to add up exactly.
  const long = [...Array(40).keys()].map((i) => `1/${10n ** 120n + 2n * BigInt(i) + 1n}`);
  assert.equal(sumOf(long), null);
  assert.match(sumText(null, long), /^≈ /);
});

test('renormalising makes the sum 1, exactly', () => {
  const loose = set(draft(), 'levels[0].share', '1/3');
  const tight = renormalised(loose, null, limits);
  assert.ok(isOne(sumOf(sharesOf(tight))));
  assert.deepEqual(sharesOf(tight), ['4/7', '3/7']);
  assert.deepEqual(sharesOf(tight, 0), sharesOf(loose, 0), 'one sum is not the other');
  const inner = renormalised(set(draft(), 'levels[0].shares[0].share', '1'), 0, limits);
  assert.deepEqual(sharesOf(inner, 0), ['3/5', '2/5']);
});

test('renormalising makes no share that is too long, and then nothing at all', () => {
  // Each share is short; those of three levels, divided by their sum, are fractions of about 360 digits.
  const [level] = draft().levels;
  const shares = [1n, 3n, 7n].map((odd) => `1/${10n ** 90n + odd}`);
  const loose = { ...draft(), levels: shares.map((share, i) => ({ ...level, name: `level ${i}`, share })) };
  assert.ok(isDraft(loose, limits));
  assert.equal(renormalised(loose, null, limits), null);
  const two = { ...loose, levels: loose.levels.slice(0, 2) };
  const tight = renormalised(two, null, limits);
  assert.ok(isDraft(tight, limits) && isOne(sumOf(sharesOf(tight))));
  const nothing = set(draft(), 'levels[1].shares[0].share', '0');
  assert.equal(renormalised(nothing, 1, limits), null, 'a sum of zero');
});

test('what is changed has a name of its own', () => {
  const start = { ...draft(), source: 'a paper' };
  assert.equal(signed(start, start), start);
  const once = signed(set(start, 'rho', '1'), start);
  assert.equal(once.name, 'blocks (changed)');
  assert.equal(once.source, 'changed from: a paper');
  const twice = signed({ ...once }, start);
  assert.deepEqual([twice.name, twice.source], [once.name, once.source]);
});
