import assert from 'node:assert/strict';
import { test } from 'node:test';
import { set } from '../explorer/draft.js';
import { readUnits, unitsOf } from '../explorer/units.js';
import { draft } from './drafts.js';

test('a number of units is a whole number from 1 on', () => {
  assert.equal(readUnits(' 8,132,968 '), 8132968);
  assert.equal(readUnits(''), null);
  const wrong = ['0', '-1', '1.5', '1e3', 'many', '9'.repeat(17)];
  for (const text of wrong) assert.equal(readUnits(text), undefined);
});

const NONE = new Map();
const BOTH = new Map([['State', '1'], ['County', '39']]);

test('numbers are asked with once there is one for every level', () => {
  const none = { per_level: null, exact_totals: [] };
  assert.deepEqual(unitsOf(draft(), NONE, NONE, new Set()), none);
  assert.deepEqual(unitsOf(draft(), new Map([['State', '1']]), NONE, new Set()), none);
  const asked = unitsOf(draft(), BOTH, NONE, new Set(['State']));
  assert.deepEqual(asked, { per_level: [1, 39], exact_totals: ['State'] });
});

test('where none is written, the one that is known is taken', () => {
  const known = new Map([['State', 51], ['County', 3143]]);
  const numbers = (written) => unitsOf(draft(), new Map(written), known, new Set()).per_level;
  assert.deepEqual(numbers([['County', '100']]), [51, 100]);
  assert.deepEqual(numbers([['County', ' ']]), null);
  assert.deepEqual(numbers([['State', '2'], ['County', 'x']]), null);
});

test('a level without a budget has no units, and no exact total', () => {
  for (const path of ['levels[1].share', 'levels[1].shares[0].share']) {
    const asked = unitsOf(set(draft(), path, '0'), BOTH, NONE, new Set(['County']));
    assert.deepEqual(asked, { per_level: [1], exact_totals: [] });
  }
});

test('no total is exact where a record may be added', () => {
  const asked = unitsOf(set(draft(), 'neighbours', 'add-remove'), NONE, NONE, new Set(['State']));
  assert.deepEqual(asked.exact_totals, []);
});
