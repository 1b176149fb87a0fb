// The module, and the native library to hold it against.
import { execFileSync } from 'node:child_process';
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
export function answers(questions) {
  const lines = questions.map(([address, body]) => `${address}\t${body ? JSON.stringify(body) : ''}\n`);
  const out = execFileSync(native, { input: lines.join(''), encoding: 'utf8', maxBuffer: 2 ** 30 });
  return out.split('\n').slice(0, -1);
}

/** The module's answer, in the same form. */
export function answer([address, body]) {
  const { status, text } = accountant.ask(address, body && JSON.stringify(body));
  return `${status}\t${text.replaceAll('\n', '\\n')}`;
}
