// Questions to the program that serves this page.
import { state, touched } from './store.js';
import { Trouble } from './trouble.js';

const AGAIN = 500; // ms after which a busy program is asked again

export async function ask(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  let response;
  try {
    response = await fetch(path, body && { method: 'POST', headers, body: JSON.stringify(body) });
  } catch {
    const hint = 'is `unspent serve` still running?';
    throw new Trouble({ message: 'the program does not answer', hint, silent: true });
  }
  if (response.ok) return response;
  const unknown = { error: { message: `the program answered ${response.status}`, hint: '' } };
  const { error } = await response.json().catch(() => unknown);
  throw new Trouble({ ...error, busy: response.status === 503 });
}

export const asked = (path, body) => ask(path, body).then((response) => response.json());

let underWay = 0;
export const isLoading = () => underWay > 0;

/** For what replaces the allocation: nothing is up to date until it is there. */
export async function loaded(path, body) {
  underWay += 1;
  touched.tell();
  try {
    return await asked(path, body);
  } finally {
    underWay -= 1;
    setTimeout(() => touched.tell()); // after what is done with the answer
  }
}

/** One kind of question: never more than one under way, and after it only the newest. */
export class Question {
  /** `show` is given the answer and the question; `parts` are the elements that show it. */
  constructor(path, show, parts) {
    Object.assign(this, { path, show, parts, wanted: null, answered: null, fail: null, isUnderWay: false });
  }

  want(body) {
    this.wanted = body;
    this.fail = null;
    if (!this.isUnderWay) this.run();
    touched.tell();
  }

  async run() {
    this.isUnderWay = true;
    try {
      await this.askNewest();
    } finally {
      this.isUnderWay = false;
    }
  }

  async askNewest() {
    let body;
    while (body !== this.wanted) {
      body = this.wanted;
      const { era } = state;
      let answer = null;
      try {
        answer = await asked(this.path, body);
      } catch (trouble) {
        if (trouble.busy && body === this.wanted) {
          await new Promise((after) => { setTimeout(after, AGAIN); });
          if (body === this.wanted) body = null; // once more
          continue;
        }
        if (body === this.wanted) this.fail = trouble;
      }
      // A hand that moves sees the answers it has passed; those of another allocation are of no use.
      if (answer && era === state.era) {
        this.show(answer, body);
        this.answered = body;
      }
      touched.tell();
    }
  }

  get isFresh() { return this.answered === this.wanted; }
}
