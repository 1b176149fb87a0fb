// The module, and the native library to hold it against.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { Accountant } from '../../unspent-explorer/web/alone/accountant.js';

const target = process.env.CARGO_TARGET_DIR ?? new URL('../../../target', import.meta.url).pathname;
export const path = `${target}/web/unspent.wasm`;
/** The package, as it is packed. */
export const packed = `${target}/web/package`;
const native = process.env.NATIVE;

/** Why there is nothing to test, or false. */
export const missing = !existsSync(path) && `there is no ${path}: make wasm`;
export const alone = !native && 'NATIVE names no program: make test-wasm';

export const bytes = missing ? null : readFileSync(path);
const module = missing ? null : new WebAssembly.Module(bytes);
export const accountant = missing ? null : new Accountant(module);

/** What the native library answers to each of a list of questions. */
const natives = (questions) => new Promise((resolve, reject) => {
  const done = (error, out) => (error ? reject(error) : resolve(out.split('\n').slice(0, -1)));
  const program = execFile(native, { encoding: 'utf8', maxBuffer: 2 ** 30 }, done);
  const line = ([address, body]) => `${address}\t${body ? JSON.stringify(body) : ''}\n`;
  program.stdin.end(questions.map(line).join(''));
});

/** The module's answers, in the same form. Between two of them what the other has said is taken. */
async function modules(questions) {
  const all = [];
  for (const [address, body] of questions) {
    const { status, text } = accountant.ask(address, body && JSON.stringify(body));
    all.push(`${status}\t${text.replaceAll('\n', '\\n')}`);
    await new Promise((after) => { setImmediate(after); });
  }
  return all;
}

/** What both answer, side by side. */
export const both = (questions) => Promise.all([modules(questions), natives(questions)]);
