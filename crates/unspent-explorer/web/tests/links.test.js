import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { fileName } from '../explorer/exports.js';
import { packed, stateIn, unpacked } from '../explorer/links.js';
import { draft, limits } from './drafts.js';

const link = (value) => deflateRawSync(JSON.stringify(value)).toString('base64url');
const saved = (more) => ({
  version: 1, origin: 'file:a', start: draft(), now: { ...draft(), rho: '1' },
  part: { scope: 'level', name: 'State' }, prior: '1/10', ...more,
});

test('what is packed is unpacked, in the letters of an address', async () => {
  const value = { text: 'δ ≤ 10⁻¹⁰ '.repeat(1000), list: [1, null, '?&#'] };
  const text = await packed(value);
  assert.match(text, /^[A-Za-z0-9_-]+$/);
  assert.ok(text.length < 300);
  assert.deepEqual(await unpacked(text), value);
});

test('a link restores a state', async () => {
  const { version, ...rest } = saved();
  assert.deepEqual(await stateIn(await packed(saved()), limits), rest);
  assert.equal((await stateIn(link(saved({ part: { scope: 'total', name: null } })), limits)).part, null);
});

test('a damaged link is refused', async () => {
  const other = { ...draft(), name: 'another' };
  for (const [name, text] of [
    ['nothing', ''], ['no base64', 'not!base64'], ['no stream', 'AAAA'], ['no state', link({ version: 1 })],
    ['another version', link(saved({ version: 2 }))], ['another frame', link(saved({ now: other }))],
    ['no draft', link(saved({ start: {}, now: {} }))], ['text', link('state')],
    ['without production', link(saved({ start: { ...draft(), production: undefined } }))],
  ]) {
    await assert.rejects(stateIn(text, limits), undefined, name);
  }
});

test('a link is read no further than is sensible', async () => {
  const bomb = link(' '.repeat(3e6));
  assert.ok(bomb.length < 1e4);
  await assert.rejects(unpacked(bomb), /too large/);
  await assert.rejects(unpacked('A'.repeat(2e6 + 1)), /too long/);
});

test('a number of another program in a link is held to the same limits', async () => {
  const long = { ...draft(), rho: '1'.repeat(257) };
  await assert.rejects(stateIn(link(saved({ start: long, now: long })), limits), /not a state/);
});

test('files have names that every system takes', () => {
  assert.equal(fileName('preset:pl94-us', 'x', true, '.toml'), 'pl94-us-changed.toml');
  assert.equal(fileName('preset:pl94-us', 'x', false, '-curve.svg'), 'pl94-us-curve.svg');
  assert.equal(fileName('file:a.toml', '../Blocks, by age!', true, '.toml'), 'blocks-by-age.toml');
  assert.equal(fileName('link:', '人口', false, '.toml'), 'allocation.toml');
});
