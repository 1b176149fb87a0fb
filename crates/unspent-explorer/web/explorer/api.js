// Questions of which only the newest counts, and what is waited for.
import { asked } from './ask.js';
import { isLong } from './questions.js';
import { state, touched } from './store.js';

const AGAIN = 500; // ms after which a busy program is asked again
const LONG = 3000; // ms after which nobody waits for an answer once something else is asked

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

/** One kind of question: never more than one under way, and after it only the newest. Long ones are left. */
export class Question {
  /** `show` is given the answer and the question; `parts` are the elements that show it. */
  constructor(path, show, parts) {
    Object.assign(this, { path, show, parts, wanted: null, answered: null, fail: null, isUnderWay: false });
    this.asking = null;
  }

  want(body) {
    this.wanted = body;
    this.fail = null;
    if (!this.isUnderWay) this.run();
    else if (isLong(this.asking.body) || performance.now() - this.asking.since > LONG) {
      this.asking.leave.abort();
    }
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
      this.asking = { body, leave: new AbortController(), since: performance.now() };
      try {
        answer = await asked(this.path, body, this.asking.leave.signal);
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
