// Questions to a module that a page brings along. Workers answer them, so that the page never waits: one for
// the ε that follows a hand, one for all that goes with it, one for what takes long. A worker is ended, and
// another begun, if nobody waits for its answer any more or its time is up.

/** How long an answer may take. */
const SECONDS = 20;

const QUICK = ['/api/certificate', '/api/design', '/api/limits', '/api/presets'];
const SLOW = ['/api/calibration', '/api/comparison', '/api/parameter'];

/** Which of the workers is asked. */
export function laneOf(address, question = '') {
  const isLong = SLOW.includes(address) || question.includes('"reductions":true') ||
    question.startsWith('{"format":"csv"');
  return isLong ? 'long' : QUICK.includes(address) ? 'quick' : 'rest';
}

/** One worker, and those who wait for it. */
class Lane {
  constructor(begin, seconds) {
    Object.assign(this, { begin, seconds, worker: null, current: null, waiting: [] });
  }

  ask(address, question, signal) {
    return new Promise((resolve, reject) => {
      const job = { address, question, resolve };
      signal?.addEventListener('abort', () => {
        this.waiting = this.waiting.filter((other) => other !== job);
        if (this.current === job) this.restart();
        reject(signal.reason);
      });
      this.waiting.push(job);
      this.next();
    });
  }

  next() {
    if (this.current || !this.waiting.length) return;
    this.worker ??= this.hire();
    this.current = this.waiting.shift();
    const { address, question } = this.current;
    this.worker.postMessage({ address, question });
    this.timer = setTimeout(() => {
      this.current.resolve(refusal(`the answer took longer than ${this.seconds} seconds`,
        'ask for less or for more of the same at a time, or use the command, which has no such limit'));
      this.restart();
    }, 1000 * this.seconds);
  }

  hire() {
    const worker = this.begin();
    worker.addEventListener('message', ({ data: { status, kind, text } }) => {
      if (this.worker !== worker) return;
      this.current.resolve(new Response(text, { status, headers: { 'Content-Type': kind } }));
      this.done();
    });
    worker.addEventListener('error', (event) => {
      if (this.worker !== worker) return;
      this.current?.resolve(refusal(`a worker of the page ended: ${event.message}`, 'ask again'));
      this.restart();
    });
    return worker;
  }

  restart() {
    this.worker.terminate();
    this.worker = null;
    this.done();
  }

  done() {
    clearTimeout(this.timer);
    this.current = null;
    this.next();
  }
}

function refusal(message, hint) {
  const headers = { 'Content-Type': 'application/json' };
  return new Response(JSON.stringify({ error: { message, hint } }), { status: 422, headers });
}

/** Carries questions to workers; `begin` begins one that knows the module. */
export function lanes(begin, seconds = SECONDS) {
  const all = new Map();
  return (address, question, signal) => {
    const name = laneOf(address, question);
    if (!all.has(name)) all.set(name, new Lane(begin, seconds));
    return all.get(name).ask(address, question, signal);
  };
}
