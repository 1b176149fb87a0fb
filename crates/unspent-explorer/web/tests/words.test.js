import assert from 'node:assert/strict';
import { test } from 'node:test';
import { change, isReduction } from '../explorer/change.js';
import { deltaScale, logScale } from '../explorer/scales.js';
import { TOTAL, has, isTotal, levelPart, lineOf, rowOf, sameScope } from '../explorer/scope.js';
import { Signal } from '../explorer/signal.js';
import { turned } from '../explorer/tables.js';
import { sentence } from '../explorer/trouble.js';
import { draft } from './drafts.js';

test('a change overstates no improvement and understates no loss', () => {
  assert.deepEqual(change('16.99991', '17.00009'), { text: '−0.0001', isWeaker: false });
  assert.deepEqual(change('17.00009', '16.99991'), { text: '+0.0002', isWeaker: true });
  assert.equal(change('17.00005', '17.00009'), null, 'a gain that is not to be seen');
  assert.deepEqual(change('17.00009', '17.00005'), { text: '+0.0001', isWeaker: true });
  assert.equal(change('17', '17'), null);
  assert.equal(change('17', undefined), null);
  assert.equal(change('17', null), null);
  assert.deepEqual(change('1.5e-12', '1e-12'), { text: '+5.00e-13', isWeaker: true });
});

test('what a calibration leaves over is not called removable', () => {
  assert.ok(isReduction('0.87') && isReduction('0.99999'));
  assert.ok(!isReduction('0.999999999999') && !isReduction('1') && !isReduction('1.1'));
});

test('sliders give numbers, and their places back', () => {
  const shares = logScale(-4, 0, true);
  assert.equal(shares.value(0), '0');
  assert.equal(shares.value(shares.most), '1');
  for (const at of [0, 1, 137, 399, 400]) assert.equal(shares.at(+shares.value(at)), at);
  const deltas = deltaScale(-20, -1);
  assert.equal(deltas.value(0), '1e-20');
  assert.equal(deltas.value(deltas.at(1e-10)), '1e-10');
  for (const at of [0, 1, 2, 30, deltas.most]) assert.equal(deltas.at(+deltas.value(at)), at);
});

test('parts are the same if scope and name are', () => {
  const [level, keeping] = ['level', 'keeping'].map((scope) => ({ scope, name: 'State' }));
  assert.ok(sameScope(level, { ...level, label: 'State', tight: {} }));
  assert.ok(!sameScope(level, keeping) && !sameScope(level, { scope: 'level', name: 'County' }));
  assert.ok(isTotal({ scope: 'total' }) && isTotal({ scope: 'total', name: null }) && !isTotal(level));
  const lines = [{ ...TOTAL, id: 1 }, { ...keeping, id: 2 }, { ...level, id: 3 }];
  const report = { lines };
  assert.equal(lineOf(report, level).id, 3);
  assert.equal(lineOf(report, TOTAL).id, 1);
  assert.equal(lineOf(report, { scope: 'attribute', name: 'age' }), undefined);
  assert.ok(sameScope(level, levelPart('State')) && !sameScope(level, levelPart('Tract')));
  const groups = [{ rows: [{ key: TOTAL }, { key: null }] }, { rows: [{ key: level, label: 'State' }] }];
  const table = { groups };
  assert.equal(rowOf(table, level).label, 'State');
  assert.equal(rowOf(table, keeping), undefined);
});

test('a table is turned so that its guarantee comes first, and loses nothing', () => {
  const row = (cells) => ({ key: null, label: null, cells });
  const groups = [{ head: null, rows: [row(['a', '1', '2', '3'])] }, { head: 'h', rows: [] }];
  const table = { heads: ['of', 'rho', 'upper', 'lower'], groups, notes: ['n'] };
  const found = turned(table, 2);
  assert.deepEqual(found.heads, ['of', 'upper', 'lower', 'rho']);
  assert.deepEqual(found.groups[0].rows[0].cells, ['a', '2', '3', '1']);
  assert.deepEqual([found.notes, found.groups[1]], [['n'], groups[1]]);
  assert.deepEqual(turned(table, 1), table);
});

test('a draft has the parts that are released', () => {
  const half = draft();
  half.levels[0].share = '0/3';
  assert.ok(has(half, TOTAL));
  assert.ok(has(half, { scope: 'level', name: 'County' }) && !has(half, { scope: 'level', name: 'State' }));
  const [age, sex] = ['age', 'sex'].map((name) => ({ scope: 'attribute', name }));
  assert.ok(has(half, age) && !has(half, sex) && !has({ ...half, attributes: null }, age));
});

test('trouble is said beside its field without naming it', () => {
  assert.equal(sentence({ field: 'rho', message: 'rho: `x` is no number', hint: 'like 1/2' }),
    '`x` is no number (like 1/2)');
  assert.equal(sentence({ message: 'the program does not answer', hint: '' }), 'The program does not answer');
});

test('a signal tells everybody, in order', () => {
  const heard = [];
  const signal = new Signal();
  signal.listen((x) => heard.push(`a${x}`));
  signal.listen((x) => heard.push(`b${x}`));
  signal.tell(1);
  assert.deepEqual(heard, ['a1', 'b1']);
});
