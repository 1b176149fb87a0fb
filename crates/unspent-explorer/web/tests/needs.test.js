import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outline, set, withBudgetsOf } from '../explorer/draft.js';
import { Rational } from '../explorer/exact.js';
import {
  checkConfidence, checkMargin, fitting, lostTables, needsText, quoted, shapeOf, tablesOf,
} from '../explorer/needstext.js';
import { draft as plain } from './drafts.js';

const queries = [{ name: 'total', attributes: [], shift: 1 }, { name: 'age', attributes: ['age'], shift: 1 }];
const draft = () => ({ ...plain(), queries });
const FIRST = { id: 1, name: '', level: 'County', by: [], margin: '5', confidence: '0.95' };
const need = (more) => ({ ...FIRST, ...more });
const DROP = { kind: 'drop', times: '1.25' };

test('needs are a needs file', () => {
  const ages = need({ id: 2, name: ' ages ', level: 'State', by: ['age'], margin: '1/3', confidence: '0.9' });
  assert.equal(needsText([need(), ages], draft(), [1, 39], DROP), `allocation = "this"
delta = "1e-10"
units = { "State" = 1, "County" = 39 }
goal = "least-epsilon"
rest = { drop = true }

[[needs]]
level = "County"
margin = "5"
confidence = "0.95"

[[needs]]
name = "ages"
level = "State"
table = ["age"]
margin = "1/3"
confidence = "0.9"
`);
});

test('a guard is against what came along; units are left out where none are known', () => {
  const text = needsText([need()], draft(), null, { kind: 'guard', times: '1.5' });
  assert.ok(text.includes('rest = { "guard" = { "than" = "this", "times" = "1.5" } }\n'));
  assert.ok(!text.includes('units'));
});

test('a level without a budget has no units', () => {
  const text = needsText([need()], set(draft(), 'levels[0].share', '0'), [39], DROP);
  assert.ok(text.includes('units = { "County" = 39 }\n'));
});

test('whatever a name is, it stays a name', () => {
  assert.equal(quoted('a"\\b\nc\u007f\u0001'), '"a\\"\\\\b\\nc\\u007f\\u0001"');
  assert.equal(quoted('é 漢 😀'), '"é 漢 😀"');
  assert.equal(quoted('\ud800'), '"\ufffd"');
  const evil = '"\nepsilon = "99';
  const offer = set(draft(), 'levels[1].name', evil);
  const text = needsText([need({ name: evil, level: evil, by: [evil] })], offer, [1, 39], DROP);
  assert.ok(!text.split('\n').some((line) => line.startsWith('epsilon')));
});

test('what can be known are the total and the tables of queries with a budget', () => {
  assert.deepEqual(tablesOf(draft()), [{ name: 'total', by: [] }, { name: 'age', by: ['age'] }]);
  assert.deepEqual(tablesOf(set(draft(), 'levels[0].shares[1].share', '0')), [{ name: 'total', by: [] }]);
});

test('needs stay with another allocation if they can be asked of it', () => {
  const others = [need({ id: 2, level: 'Town' }), need({ id: 3, by: ['race'] })];
  const needs = [need(), ...others, need({ by: ['age'] })];
  assert.deepEqual(fitting(needs, draft()), [needs[0], needs.at(-1)]);
});

test('answers with other margins are about the same needs, others are not', () => {
  const shape = shapeOf([need()], DROP);
  const dragged = need({ margin: '6', confidence: '0.9', name: 'x' });
  assert.equal(shapeOf([dragged], { ...DROP, times: '2' }), shape);
  const others = [[], [need(), need({ id: 2 })], [need({ id: 2 })], [need({ level: 'State' })],
    [need({ by: ['age'] })]];
  for (const other of others) assert.notEqual(shapeOf(other, DROP), shape);
  assert.notEqual(shapeOf([need()], { ...DROP, kind: 'guard' }), shape);
});

test('levels that lack the same tables are named together', () => {
  const table = (level, query, deviation) => ({ level, query, deviation });
  const tables = [table('State', 'total', 1), table('State', 'age', null), table('County', 'total', 1),
    table('County', 'age', null), table('Town', 'total', 2), table('Town', 'age', 3)];
  assert.deepEqual(lostTables(tables), [{ levels: ['State', 'County'], queries: ['age'] }]);
});

test('margins and confidences that cannot be asked for are said to be wrong', () => {
  const value = (text) => Rational.parse(text);
  for (const text of ['0', '-1']) assert.throws(() => checkMargin(value(text)), /above 0/);
  for (const text of ['0', '1', '95']) {
    assert.throws(() => checkConfidence(value(text)), /between 0 and 1/);
  }
  checkMargin(value('0.01'));
  checkConfidence(value('0.999'));
});

test('a designed allocation takes the places of the one at the start', () => {
  const found = {
    ...draft(), rho: '2', epsilon: '9', delta: '1e-9',
    levels: [{ name: 'State', share: '1', shares: [{ query: 'age', share: '1' }] }],
  };
  const next = withBudgetsOf(draft(), found);
  assert.deepEqual(outline(next), outline(draft()));
  assert.deepEqual([next.rho, next.epsilon, next.delta], ['2', '9', '1e-9']);
  assert.deepEqual(next.levels[0].shares.map(({ share }) => share), ['0', '1']);
  assert.equal(next.levels[1].share, '0');
  // A query that its level does not have.
  const levels = [{ name: 'County', share: '1', shares: [{ query: 'age', share: '1' }] }];
  assert.equal(withBudgetsOf(draft(), { ...found, levels }), null);
});
