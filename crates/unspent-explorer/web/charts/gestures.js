// What a pointer, a finger, a wheel or a key does to a panel.
import { svg } from './elements.js';
import { clamp, finite } from './numbers.js';

const EVENTS = [
  'pointerdown', 'pointermove', 'pointerup', 'pointercancel', 'pointerleave', 'dblclick', 'keydown', 'blur',
];
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };
const ZOOMS = { '+': 0.5, '=': 0.5, '-': 2, '−': 2, _: 2 };

const ascending = (a, b) => a - b;
const middleOf = ([low, high]) => (low + high) / 2;

/** Events of a panel's drawing, handled by methods of the same names. */
export class Gestures {
  constructor(panel) {
    Object.assign(this, { panel, touches: new Map(), drag: null, pinch: null });
    for (const type of EVENTS) panel.svg.addEventListener(type, (event) => this[type](event));
    panel.svg.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
  }

  position(event) {
    const { left, top } = this.panel.svg.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  pointerdown(event) {
    const { panel, touches } = this;
    const at = this.position(event);
    if (event.pointerType !== 'touch') {
      if (event.button !== 0 || panel.sideways) return;
      this.drag = { from: at, box: svg('rect', { class: 'select' }, panel.svg) };
    } else {
      touches.set(event.pointerId, at);
      if (touches.size === 2) this.pinch = { from: [...touches.values()], x: panel.x, y: panel.y };
      panel.pointTo(...at);
    }
    panel.svg.setPointerCapture(event.pointerId);
  }

  pointermove(event) {
    const at = this.position(event);
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, at);
    if (this.drag) this.dragged(at);
    else if (this.pinch) this.pinched();
    else this.panel.pointTo(...at);
  }

  pinched() {
    const { panel, pinch } = this;
    const apart = ([p, q]) => Math.max(10, Math.hypot(p[0] - q[0], p[1] - q[1]));
    const [p, q] = pinch.from;
    // Pixels are read as they were when the second finger came down.
    panel.x = pinch.x;
    panel.y = pinch.y;
    const [x, y] = [panel.value('x', (p[0] + q[0]) / 2), panel.value('y', (p[1] + q[1]) / 2)];
    panel.scale(apart(pinch.from) / apart([...this.touches.values()]), pinch, x, y);
  }

  dragged([u, v]) {
    const { panel, drag } = this;
    const [x, y] = drag.from;
    const [left, top, right, bottom] = panel.bounds;
    const flat = Math.abs(v - y) < 16; // a range of x
    const xs = [x, u].map((a) => clamp(a, left, right)).sort(ascending);
    const ys = flat ? [top, bottom] : [y, v].map((a) => clamp(a, top, bottom)).sort(ascending);
    drag.area = xs[1] - xs[0] > 6 && ys[1] - ys[0] > 6 ? { xs, ys } : null;
    if (drag.area) panel.leave();
    const box = { x: xs[0], y: ys[0], width: xs[1] - xs[0], height: drag.area ? ys[1] - ys[0] : 0 };
    for (const key in box) drag.box.setAttribute(key, box[key]);
  }

  pointerup(event) {
    const { panel } = this;
    const area = this.drag && this.drag.area;
    this.pointercancel(event);
    if (!area) return;
    const ys = [...area.ys].reverse().map((y) => panel.value('y', y));
    panel.show(area.xs.map((x) => panel.value('x', x)), ys);
  }

  pointercancel(event) {
    this.drop();
    this.touches.delete(event.pointerId);
    if (this.touches.size < 2) this.pinch = null;
  }

  drop() {
    if (this.drag) this.drag.box.remove();
    this.drag = null;
  }

  // A finger leaves when it is lifted, and then wants to read.
  pointerleave(event) { if (event.pointerType !== 'touch' && !this.drag) this.panel.leave(); }
  blur() { this.panel.leave(); }
  dblclick() { this.panel.reset(); }

  wheel(event) {
    const { panel } = this;
    if (!event.ctrlKey && !event.metaKey || panel.sideways) return; // the page scrolls
    event.preventDefault();
    const [x, y] = this.position(event);
    const factor = Math.exp(clamp(event.deltaY, -100, 100) / 300);
    panel.scale(factor, { x: panel.x, y: panel.y }, panel.value('x', x), panel.value('y', y));
  }

  keydown(event) {
    const { panel } = this;
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isStep = key in STEPS && (panel.sideways || !/Up|Down/.test(key));
    if (key === 'Escape') {
      this.drop();
      panel.leave();
      panel.reset();
    } else if (key in ZOOMS && !panel.sideways) {
      const centre = panel.at === null ? middleOf(panel.x) : panel.at;
      panel.scale(ZOOMS[key], { x: panel.x, y: panel.y }, centre, null);
    } else if (isStep && panel.stops().length) this.step(STEPS[key] * (event.shiftKey ? 10 : 1));
    else return;
    event.preventDefault();
  }

  /** Moves the crosshair; from nowhere it comes to the middle first. */
  step(by) {
    const { panel } = this;
    const stops = panel.stops();
    const now = panel.at !== null ? panel.at : panel.sideways ? 0 : middleOf(panel.x);
    const closer = (best, s, i) => (Math.abs(s - now) < Math.abs(stops[best] - now) ? i : best);
    const nearest = stops.reduce(closer, 0);
    const first = panel.at === null && finite(by);
    panel.at = stops[first ? nearest : clamp(nearest + by, 0, stops.length - 1)];
    // The view follows.
    const [low, high] = panel.x;
    if (!panel.sideways && (panel.at < low || panel.at > high)) {
      const shift = panel.at - middleOf(panel.x);
      panel.show([low + shift, high + shift], panel.y);
    }
    panel.point(true);
  }
}
