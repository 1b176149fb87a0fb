import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { laneOf, lanes } from '../alone/lanes.js';

/** Workers that answer when they are told to. */
let workers;
class Fake {
  constructor() {
    Object.assign(this, { asked: [], heard: {}, isEnded: false });
    workers.push(this);
  }

  addEventListener(type, act) { this.heard[type] = act; }

  postMessage(question) { this.asked.push(question); }

  terminate() { this.isEnded = true; }

  answer(text, status = 200) { this.heard.message({ data: { status, kind: 'application/json', text } }); }
}

let ask;
beforeEach(() => {
  workers = [];
  ask = lanes(() => new Fake(), 0.05);
});

test('a lane answers one question after another', async () => {
  const answers = [ask('/api/figure', '{"n":1}'), ask('/api/figure', '{"n":2}')];
  const [worker] = workers;
  assert.deepEqual(worker.asked, [{ address: '/api/figure', question: '{"n":1}' }]);
  worker.answer('"one"');
  worker.answer('"two"', 422);
  const [one, two] = await Promise.all(answers);
  assert.deepEqual([one.ok, await one.json(), two.status, await two.json()], [true, 'one', 422, 'two']);
  assert.equal(one.headers.get('Content-Type'), 'application/json');
});

test('what takes long, and all that goes with an ε, is asked beside it', () => {
  const certificate = (reductions) => JSON.stringify({ release: [], reductions });
  assert.equal(laneOf('/api/certificate', certificate(false)), 'quick');
  assert.equal(laneOf('/api/certificate', certificate(true)), 'long');
  assert.equal(laneOf('/api/export', '{"format":"csv"}'), 'long');
  assert.equal(laneOf('/api/figure', '{}'), 'rest');
  for (const address of ['/api/limits', '/api/figure', '/api/calibration']) ask(address);
  assert.equal(workers.length, 3);
});

test('who leaves ends the work, and others are answered', async () => {
  const leave = new AbortController();
  const left = ask('/api/figure', '{"n":1}', leave.signal);
  const later = new AbortController();
  const never = ask('/api/figure', '{"n":2}', later.signal);
  const stays = ask('/api/figure', '{"n":3}');
  later.abort();
  leave.abort();
  await assert.rejects(left, { name: 'AbortError' });
  await assert.rejects(never, { name: 'AbortError' });
  const [first, second] = workers;
  assert.ok(first.isEnded && !second.isEnded);
  assert.deepEqual(second.asked.map(({ question }) => question), ['{"n":3}']);
  first.answer('"late"');
  second.answer('"three"');
  assert.equal(await (await stays).json(), 'three');
});

test('an answer that takes too long is not waited for', async () => {
  const late = await ask('/api/figure', '{}');
  assert.equal(late.status, 422);
  assert.match((await late.json()).error.message, /took longer than 0\.05 seconds/);
  assert.ok(workers[0].isEnded);
});

test('a worker that ends says so, and there is another', async () => {
  const answer = ask('/api/figure', '{}');
  workers[0].heard.error({ message: 'gone' });
  assert.match((await (await answer).json()).error.message, /gone/);
  ask('/api/figure', '{}');
  assert.equal(workers.length, 2);
});
