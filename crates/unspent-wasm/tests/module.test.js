// The module by itself: what it takes, what it refuses, and how it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountant, bytes, missing } from './module.js';

const ask = (address, body) => {
  const { status, text, kind } = accountant.ask(address, body && JSON.stringify(body));
  return { status, kind, answer: JSON.parse(text) };
};
const refused = (status, address, body) => {
  const { status: found, answer } = ask(address, body);
  assert.equal(found, status, JSON.stringify(answer));
  assert.ok(answer.error.message);
  return answer.error.message;
};

test('it imports nothing, and exports little', { skip: missing }, () => {
  const module = new WebAssembly.Module(bytes);
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  const functions = WebAssembly.Module.exports(module).filter(({ kind }) => kind === 'function');
  const names = ['ask', 'fault', 'fault_length', 'reply', 'reply_length', 'room'];
  assert.deepEqual(functions.map(({ name }) => name).sort(), names);
});

test('it answers what a page and a package ask', { skip: missing }, () => {
  const composition = { mechanisms: [{ sigma2: '5', count: 10 }], deltas: ['1e-11'] };
  const { status, kind, answer } = ask('account', composition);
  assert.deepEqual([status, kind], [200, 'application/json']);
  assert.match(answer.points[0].epsilon.upper, /^10\.12483/);
  assert.ok(ask('/api/presets').answer.length > 15);
  assert.ok(ask('/api/limits').answer.levels > 0);
});

test('what is wrong is said', { skip: missing }, () => {
  assert.match(refused(404, '/api/nothing'), /there is nothing at/);
  assert.match(refused(405, '/api/certificate'), /is asked with POST/);
  assert.match(refused(400, '/api/account', { surprise: 1 }), /unknown field/);
  assert.match(refused(422, 'nothing', {}), /is not one of the questions/);
  assert.match(refused(422, 'account', { mechanisms: [{ sigma2: '-1' }] }), /sigma2/);
  for (const text of ['{', '\0', '"', '['.repeat(1e6), '\u{10ffff}'.repeat(1e5)]) {
    assert.equal(accountant.ask('/api/account', text).status, 400);
  }
});

test('its memory is bounded: the next question is answered', { skip: missing }, () => {
  const masses = Array.from({ length: 4 }, (_, i) => `${10n ** 90n + BigInt(i)}/${4n * 10n ** 90n + 6n}`);
  const large = 'x'.repeat(120 << 20);
  const { status, text } = accountant.ask('/api/read', JSON.stringify({ [large]: masses }));
  assert.ok([400, 422].includes(status), text.slice(0, 200));
  assert.equal(accountant.ask('/api/limits').status, 200);
  assert.ok(!accountant.instance || accountant.instance.exports.memory.buffer.byteLength <= 256 << 20);
});
