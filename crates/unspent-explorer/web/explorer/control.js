// What is set exactly in a field, and one number that is set by a slider, too.
import { clamp } from '../charts/numbers.js';
import { el, listen } from './dom.js';
import { fits } from './draft.js';
import { ONE, number } from './exact.js';
import { limits } from './limits.js';
import { edit, texts, touched, turned, wrong } from './store.js';

const TYPED = 400; // ms after which what is typed is read
const APART = 1000; // ms between arrow keys that are one step

/** All controls of the present allocation, by the path of what they set. */
export const controls = new Map();

let sessions = 0;

/** A text that is set at a path. */
export class Field {
  /** `check` throws, in words, what cannot be set. */
  constructor({ path, id, spoken, check }) {
    Object.assign(this, { path, check });
    const off = { autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' };
    this.field = el('input', {
      type: 'text', id, ...off, 'aria-label': spoken, 'aria-describedby': `${id}-wrong`,
    });
    this.wrong = el('p.wrong', { id: `${id}-wrong` });
    controls.set(path, this);
    this.listenToField();
  }

  /** What is typed at one sitting is one step. */
  listenToField() {
    const { field } = this;
    listen(field, 'focus', () => { this.typing = `type ${++sessions}`; });
    listen(field, 'input', () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.read(), TYPED);
    });
    listen(field, 'change', () => this.read());
  }

  read() {
    clearTimeout(this.waiting);
    if (controls.get(this.path) !== this) return; // of an allocation that is gone
    const text = this.field.value.trim();
    try {
      this.check(text);
    } catch (error) {
      wrong.set(this.path, error.message);
      touched.tell();
      return;
    }
    wrong.delete(this.path);
    this.isTyped = true;
    edit(turned(this.path, text), this.typing);
    this.isTyped = false;
    touched.tell();
  }

  update() {
    // What is being typed stays as it is typed.
    if (!this.isTyped && !wrong.has(this.path)) [this.field.value] = texts(this.path);
  }

  /** Whether an objection of the program is about it. */
  isAtFault({ field }) { return Boolean(field) && `${field}.`.startsWith(`${this.path}.`); }

  /** Says at the field what is wrong with it, or nothing. */
  object(message) {
    this.field.setAttribute('aria-invalid', String(Boolean(message)));
    if (this.wrong.textContent !== message) this.wrong.textContent = message;
  }
}

export class Control extends Field {
  /** `label` may be several nodes; `check` is of a number. */
  constructor({ path, id, label, spoken, scale, check }) {
    super({ path, id, spoken: `${spoken}, exactly`, check: (text) => check(exact(text)) });
    this.scale = scale;
    const range = { type: 'range', min: 0, max: scale.most, step: 1 };
    this.side = el('output.side', { for: id });
    this.slider = el('input', { ...range, id: `${id}-slider`, 'aria-label': `${spoken}, slider` });
    this.tick = el('span.tick', { 'aria-hidden': 'true', title: 'the starting point' });
    const track = el('span.track', {}, this.slider, this.tick);
    const name = el('label', { for: id }, ...[label].flat());
    this.node = el('div.control', {}, name, this.side, track, this.field, this.wrong);
    this.listenToSlider();
  }

  /** A drag is one step; so are arrow keys in quick succession. */
  listenToSlider() {
    const { slider } = this;
    let last = 0;
    listen(slider, 'pointerdown', () => {
      this.session = `slide ${++sessions}`;
      last = Infinity;
    });
    listen(slider, 'pointerup pointercancel', () => { last = 0; });
    listen(slider, 'input', () => {
      if (performance.now() - last > APART) this.session = `slide ${++sessions}`;
      if (last !== Infinity) last = performance.now();
      wrong.delete(this.path);
      const at = +slider.value;
      // Back at its mark a slider gives the starting number itself, exactly.
      const [, first] = texts(this.path);
      const text = at === this.place(first) ? first : this.scale.value(at);
      edit(turned(this.path, text), this.session);
      this.update();
      touched.tell();
    });
  }

  place(text) { return clamp(this.scale.at(number(text).toNumber()), 0, this.scale.most); }

  update() {
    super.update();
    const [text, first] = texts(this.path);
    this.slider.value = this.place(text);
    this.slider.setAttribute('aria-valuetext', text);
    this.field.title = text.includes('/') ? `≈ ${number(text).short(6, false)}` : '';
    this.tick.style.setProperty('--at', this.place(first) / this.scale.most);
    this.node.classList.toggle('moved', text !== first);
  }
}

// ---- What can be set

/** A number that is short enough to be sent. */
export function exact(text) {
  if (fits(text, limits)) return number(text);
  throw new Error(`A number has at most ${limits.digits} characters here, and an exponent of three digits.`);
}

export function positive(value) {
  if (value.n <= 0n) throw new Error('It must be positive.');
}

export function notNegative(value) {
  if (value.n < 0n) throw new Error('It is never negative: check the sign.');
}

export function probability(value) {
  if (value.n <= 0n || value.compare(ONE) >= 0) throw new Error('δ lies between 0 and 1.');
}
