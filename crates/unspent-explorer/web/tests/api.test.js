import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Question } from '../explorer/api.js';
import { ask } from '../explorer/ask.js';
import { state } from '../explorer/store.js';

/** A program that answers when it is told to. */
let waiting = [];
globalThis.fetch = (path, { body, signal }) => new Promise((resolve, reject) => {
  signal?.addEventListener('abort', () => reject(signal.reason));
  waiting.push({
    asked: JSON.parse(body),
    answer: (value, status = 200) => {
      const json = () => Promise.resolve(value);
      resolve({ ok: status === 200, status, json });
    },
    hangUp: () => reject(new TypeError('no connection')),
  });
});
const settled = () => new Promise((after) => { setImmediate(after); });

let shown;
let question;
beforeEach(() => {
  waiting = [];
  shown = [];
  question = new Question('/api/x', (answer) => shown.push(answer), []);
});

test('one question is under way at a time, and after it only the newest', async () => {
  for (const n of [1, 2, 3]) question.want({ n });
  assert.equal(waiting.length, 1);
  assert.ok(!question.isFresh);
  waiting[0].answer('of 1');
  await settled();
  assert.deepEqual(waiting.map(({ asked }) => asked.n), [1, 3]);
  assert.ok(!question.isFresh, 'a hand that moves sees what it has passed, marked as such');
  waiting[1].answer('of 3');
  await settled();
  assert.deepEqual(shown, ['of 1', 'of 3']);
  assert.ok(question.isFresh);
});

test('a long question is left for another', async () => {
  question.want({ n: 1, reductions: true });
  question.want({ n: 2, reductions: false });
  await settled();
  assert.deepEqual(waiting.map(({ asked }) => asked.n), [1, 2]);
  waiting[1].answer('of 2');
  await settled();
  assert.deepEqual(shown, ['of 2']);
  assert.ok(question.isFresh && !question.fail);
});

test('answers of another allocation are of no use', async () => {
  question.want({ n: 1 });
  state.era += 1;
  question.want({ n: 2 });
  waiting[0].answer('of 1');
  await settled();
  waiting[1].answer('of 2');
  await settled();
  assert.deepEqual(shown, ['of 2']);
});

test('what is refused is kept, until something else is asked', async () => {
  question.want({ n: 1 });
  waiting[0].answer({ error: { message: 'rho: no number', hint: 'h', field: 'rho' } }, 422);
  await settled();
  assert.equal(question.fail.field, 'rho');
  assert.ok(!question.isFresh);
  question.want({ n: 2 });
  assert.equal(question.fail, null);
});

test('a busy program is asked again', async () => {
  question.want({ n: 1 });
  waiting[0].answer({ error: { message: 'busy', hint: '' } }, 503);
  while (waiting.length < 2) await new Promise((after) => { setTimeout(after, 20); });
  waiting[1].answer('of 1');
  await settled();
  assert.ok(question.isFresh && !question.fail);
});

test('a program that is gone is said to be', async () => {
  const answer = ask('/api/x', {});
  waiting[0].hangUp();
  await assert.rejects(answer, (found) => found.silent && /does not answer/.test(found.message));
});

test('a defect in what shows an answer does not end all questions', async () => {
  let isSound = false;
  const fragile = new Question('/api/x', () => { if (!isSound) throw new Error('defect'); }, []);
  fragile.wanted = { n: 1 };
  const asking = fragile.run();
  waiting[0].answer('of 1');
  await assert.rejects(asking, /defect/);
  isSound = true;
  fragile.want({ n: 2 });
  waiting[1].answer('of 2');
  await settled();
  assert.ok(fragile.isFresh);
});
