import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frame, hasLaplace, isDraft, isReleased, same, set } from '../explorer/draft.js';
import { fieldAtFault, fieldsOf, kindsFor, ofKind, titleOf } from '../explorer/kinds.js';
import { has } from '../explorer/scope.js';
import { draft, limits } from './drafts.js';

test('a kind keeps what the one before has in common with it, as it was written', () => {
  const before = { kind: 'laplace', b: '2.50', shift: '3', count: '7', note: 'x' };
  assert.deepEqual(ofKind('discrete_laplace', before), { ...before, kind: 'discrete_laplace' });
  const sampled = ofKind('subsampled_gaussian', before);
  assert.deepEqual([sampled.sigma, sampled.q, sampled.count], ['10', '1/100', '7']);
  assert.deepEqual(ofKind('gaussian', { ...sampled, sigma: undefined, sigma2: '1.21' }).sigma2, '1.21');
});

test('samples are offered where a record is added or removed', () => {
  const offered = (neighbours) => kindsFor(neighbours).some(({ kind }) => kind === 'subsampled_gaussian');
  assert.ok(offered('add-remove') && !offered('bounded'));
});

test('every kind has its fields in order, and one that is not known has those that are there', () => {
  for (const { kind, parameters, title } of kindsFor('add-remove')) {
    const also = ofKind(kind);
    assert.deepEqual(fieldsOf(also).map(([name]) => name), [...parameters.map(([name]) => name), 'count']);
    assert.equal(titleOf(also), title);
  }
  const other = { kind: 'new_kind', width: '3', count: '1', note: 'x' };
  assert.deepEqual(fieldsOf(other), [['width', 'width'], ['count', 'How many']]);
  assert.equal(titleOf(other), 'new kind');
});

test('an objection finds its field under either name', () => {
  assert.equal(fieldAtFault({ b: '0' }, 'also[0].laplace: scale'), 'b');
  assert.equal(fieldAtFault({ q: '0' }, 'also[0].subsampled_gaussian: q'), 'q');
  assert.equal(fieldAtFault({ q: '0' }, 'also[0].kind'), null);
});

test('drafts with other noise are drafts, and other mechanisms are no part of the frame', () => {
  const laplace = { query: 'total', share: '0', laplace: { mechanism: 'laplace', scale: '1.1' } };
  const mixed = set(set(draft(), 'levels[1].share', '0'), 'levels[1].shares', [laplace]);
  assert.ok(isDraft(mixed, limits) && hasLaplace(mixed) && !hasLaplace(draft()));
  assert.ok(isReleased(mixed.levels[1]) && has(mixed, { scope: 'level', name: 'County' }));
  assert.ok(!isDraft(set(mixed, 'levels[1].shares[0].laplace.scale', 'wide'), limits));
  const beside = { ...draft(), also: [ofKind('laplace')] };
  assert.ok(isDraft(beside, limits) && same(frame(beside), frame(draft())));
  assert.ok(!isDraft({ ...draft(), also: [{ ...ofKind('laplace'), scale: 2 }] }, limits));
  assert.ok(!isDraft({ ...draft(), also: [{ kind: 'laplace' }] }, limits));
});
