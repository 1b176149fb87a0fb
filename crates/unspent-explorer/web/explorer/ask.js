// Questions to the program behind a page: its server, or a module that the page brings along.
import { Trouble } from './trouble.js';

const headers = { 'Content-Type': 'application/json' };

async function served(path, body, signal) {
  try {
    return await fetch(path, body === undefined ? { signal } : { method: 'POST', headers, body, signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    const hint = 'is `unspent serve` still running?';
    throw new Trouble({ message: 'the program does not answer', hint, silent: true });
  }
}

let carry = served;

/** Has questions carried by another: a function of a path, JSON or nothing, and a signal; to a Response. */
export function carriedBy(other) {
  carry = other;
}

export async function ask(path, body, signal) {
  const response = await carry(path, body && JSON.stringify(body), signal);
  if (response.ok) return response;
  const unknown = { error: { message: `the program answered ${response.status}`, hint: '' } };
  const { error } = await response.json().catch(() => unknown);
  throw new Trouble({ ...error, busy: response.status === 503 });
}

export const asked = (path, body, signal) => ask(path, body, signal).then((response) => response.json());
