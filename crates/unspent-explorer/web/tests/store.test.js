import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { get, set } from '../explorer/draft.js';
import { changed, edit, load, noted, redo, reset, state, turned, undo, wrong } from '../explorer/store.js';
import { draft } from './drafts.js';

let changes = 0;
let said = [];
changed.listen(() => { changes += 1; });
noted.listen((text) => said.push(text));

beforeEach(() => {
  Object.assign(state, { start: null, now: null, past: [], future: [], session: null });
  load(draft(), 'file:a');
  changes = 0;
  said = [];
});
const rho = () => state.now.rho;

test('a step can be undone and done again', () => {
  edit(turned('rho', '1'));
  edit(turned('rho', '2'));
  undo();
  assert.equal(rho(), '1');
  undo();
  assert.equal(rho(), '1/2');
  undo();
  assert.equal(rho(), '1/2', 'there is nothing before');
  redo();
  redo();
  assert.equal(rho(), '2');
  assert.equal(changes, 6);
});

test('changes of one session are one step', () => {
  for (const value of ['1', '2', '3']) edit(turned('rho', value), 'slide 1');
  edit(turned('rho', '4'), 'slide 2');
  undo();
  assert.equal(rho(), '3');
  undo();
  assert.equal(rho(), '1/2');
});

test('back at the start it is the start itself', () => {
  edit(turned('rho', '1'));
  edit(turned('rho', '1/2'));
  assert.equal(state.now, state.start);
  edit(turned('rho', '1'));
  wrong.set('delta', 'no number');
  reset();
  assert.equal(state.now, state.start);
  assert.equal(wrong.size, 0);
});

test('the same again is no step', () => {
  edit(turned('rho', '1/2'));
  assert.equal(changes, 0);
  assert.equal(state.past.length, 0);
});

test('an answer with other levels is refused', () => {
  assert.throws(() => edit(set(state.now, 'levels[0].name', 'Nation')), /other levels/);
  assert.equal(state.now, state.start);
});

test('a stated ε does not outlive its δ', () => {
  load({ ...draft(), epsilon: '17.14349' }, 'file:b');
  edit(turned('delta', '1e-10'));
  assert.equal(state.now.epsilon, '17.14349');
  edit(turned('delta', '0.0000000001'));
  assert.equal(state.now.epsilon, '17.14349', 'the same δ, written otherwise');
  edit(turned('delta', '1e-6'));
  assert.equal(state.now.epsilon, null);
  assert.match(said[0], /17\.1435 was promised for δ = 0\.0000000001/);
});

test('a table that states no δ is given one, and that is said', () => {
  load({ ...draft(), delta: null }, 'file:t.csv');
  assert.equal(get(state.now, 'delta'), '1e-10');
  assert.match(said[0], /No δ is stated/);
});

test('another start can be undone too, and answers of the one before are of no use', () => {
  const { era } = state;
  load({ ...draft(), rho: '7' }, 'file:c');
  assert.equal(state.era, era + 1);
  undo();
  assert.equal(state.origin, 'file:a');
  assert.equal(state.era, era + 2);
});
