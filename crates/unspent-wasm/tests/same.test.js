// Bit for bit what the native library answers: NATIVE=… node --test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountant, alone, answer, answers, missing } from './module.js';
import { certificates, looks, references } from './questions.js';

const skip = missing || alone;

/** Compares all answers; returns how many were given, and how many numbers they have. */
function compare(questions) {
  const list = [...questions];
  let numbers = 0;
  answers(list).forEach((expected, i) => {
    const found = answer(list[i]);
    if (found !== expected) {
      let at = 0;
      while (found[at] === expected[at]) at += 1;
      const around = [found, expected].map((text) => text.slice(Math.max(0, at - 60), at + 60));
      assert.fail(`${JSON.stringify(list[i]).slice(0, 300)}\n  module: …${around.join('\n  native: …')}`);
    }
    if (expected.startsWith('200')) numbers += expected.match(/\d+(\.\d+)?(e-?\d+)?/g).length;
  });
  return `${list.length} questions, ${numbers} numbers`;
}

const presets = () => JSON.parse(accountant.ask('/api/presets').text);

test('all reference values', { skip }, (t) => { t.diagnostic(compare(references())); });

test('all lines of all presets', { skip }, (t) => {
  const names = presets().map(({ preset }) => preset);
  t.diagnostic(compare(certificates(names)));
});

test('what the explorer asks of every preset', { skip }, (t) => {
  const drafts = presets().filter(({ levels }) => levels > 0)
    .map(({ preset }) => JSON.parse(accountant.ask(`/api/presets/${preset}`).text).draft);
  t.diagnostic(compare(drafts.flatMap((draft) => [...looks(draft)])));
});
