// Bit for bit what the native library answers: NATIVE=… node --test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountant, alone, both, missing } from './module.js';
import { certificates, looks, references } from './questions.js';

const skip = missing || alone;

/**
 * Compares all answers, of which those to some may be refusals; returns how many were given, and how many
 * numbers they have.
 */
async function compare(questions, mayRefuse) {
  const list = [...questions];
  let [numbers, refused] = [0, 0];
  const [found, expected] = await both(list);
  assert.deepEqual([found.length, expected.length], [list.length, list.length]);
  found.forEach((text, i) => {
    if (text !== expected[i]) {
      let at = 0;
      while (text[at] === expected[i][at]) at += 1;
      const around = [text, expected[i]].map((one) => one.slice(Math.max(0, at - 60), at + 60));
      assert.fail(`${JSON.stringify(list[i]).slice(0, 300)}\n  module: …${around.join('\n  native: …')}`);
    }
    if (text.startsWith('200')) numbers += text.match(/\d+(\.\d+)?(e-?\d+)?/g).length;
    else {
      assert.ok(mayRefuse(list[i]), `${JSON.stringify(list[i]).slice(0, 300)}: ${text.slice(0, 300)}`);
      refused += 1;
    }
  });
  return `${list.length} questions, of which ${refused} are refused, ${numbers} numbers`;
}

const presets = () => JSON.parse(accountant.ask('/api/presets').text);

test('all reference values', { skip }, async (t) => {
  const isOfDelta = ([, { deltas, epsilons }]) => deltas && !epsilons;
  t.diagnostic(await compare(references(), isOfDelta));
});

test('all lines of all presets', { skip }, async (t) => {
  const names = presets().map(({ preset }) => preset);
  t.diagnostic(await compare(certificates(names), () => false));
});

test('what the explorer asks of every preset', { skip }, async (t) => {
  const drafts = presets().filter(({ levels }) => levels > 0)
    .map(({ preset }) => JSON.parse(accountant.ask(`/api/presets/${preset}`).text).draft);
  t.diagnostic(await compare(drafts.flatMap((draft) => [...looks(draft)]), () => true));
});
