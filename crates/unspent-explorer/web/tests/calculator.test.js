import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsFor, questionOf, refusalOf, sayingOf } from '../calculator/question.js';

const texts = { noise: '10', count: '3', q: '1/100', shift: '2', epsilon: '1', delta: '1e-6' };

test('a question has the fields that are there', () => {
  assert.deepEqual(fieldsFor('laplace', 'epsilon'), ['noise', 'count', 'shift', 'delta']);
  assert.deepEqual(fieldsFor('subsampled_gaussian', 'noise'), ['count', 'q', 'epsilon', 'delta']);
  const laplace = { kind: 'laplace', scale: '10', count: '3', shift: '2' };
  assert.deepEqual(questionOf('laplace', 'epsilon', texts),
    ['/api/account', { mechanisms: [laplace], deltas: ['1e-6'] }]);
  const open = { kind: 'subsampled_gaussian', sigma: '?', count: '3', q: '1/100' };
  assert.deepEqual(questionOf('subsampled_gaussian', 'noise', texts),
    ['/api/parameter', { mechanisms: [open], epsilon: '1', delta: '1e-6' }]);
});

test('what is refused is said at its field, and nothing of how a question is written', () => {
  const hint = '/api/openapi.json describes what can be asked';
  const unread = (what) => `the question cannot be read: ${what} at line 1 column 85`;
  const wide = '`1e400` is not a positive standard deviation';
  assert.deepEqual(refusalOf({ message: unread(`discrete_gaussian: sigma: ${wide}`), hint }),
    { field: 'noise', text: wide });
  const outside = '`2` is not a number strictly between 0 and 1';
  assert.deepEqual(refusalOf({ message: unread(`delta: ${outside}`), hint }),
    { field: 'delta', text: outside });
  assert.deepEqual(refusalOf({ message: 'delta 1e-10: delta: `1e-10` is not a delta above 1/4', hint: 'so' }),
    { field: 'delta', text: '`1e-10` is not a delta above 1/4 (so)' });
  const none = 'laplace: not even b = 1e6 meets the target';
  assert.deepEqual(refusalOf({ message: none, hint: 'ask for more' }),
    { field: null, text: `${none} (ask for more)` });
  assert.deepEqual(refusalOf({ message: none }), { field: null, text: none });
});

test('guarantees are rounded up', () => {
  const point = { epsilon: { lower: '1.23449', upper: '1.23451' }, delta: '1e-6' };
  const { line, notes } = sayingOf('gaussian', 'epsilon', texts, { points: [point] });
  assert.equal(line, 'ε ≤ 1.2346 at δ = 1e-6');
  assert.ok(notes[0].includes('between 1.23449 and 1.23451'));
  const tiny = { epsilon: '1', delta: { lower: '0', upper: '1.2e-2171472192383' } };
  assert.equal(sayingOf('gaussian', 'delta', texts, { points: [tiny] }).line,
    'δ ≤ 1.2e-2171472192383 at ε = 1');
});
