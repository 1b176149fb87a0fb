// One panel: its ranges, its axes and its data, the crosshair in it, and how far it is zoomed.
import { LINE, html, rich, svg, widthOf, wrap } from './elements.js';
import { Gestures } from './gestures.js';
import { LOOKS } from './looks.js';
import { clamp, finite, shown } from './numbers.js';
import { heights, readAt, readCategory, stopsOf, widths } from './reading.js';
import { drawSeries, isNamedInPlace } from './series.js';
import { extent, ticks } from './ticks.js';

const KEYS = 'Arrow keys read values, plus and minus zoom, Escape resets.';
const ROW_KEYS = 'Arrow keys move from row to row.';

const isLog = (axis) => axis.scale === 'log10';
/** At the right of each plotting area. */
export const RIGHT = 16;

const largest = (values, least) => values.reduce((a, b) => Math.max(a, b), least);

export class Panel {
  constructor(figure, data, index) {
    Object.assign(this, { figure, data, index, zoom: { x: null, y: null }, at: null });
    this.names = data.categories || [];
    this.sideways = this.names.length > 0;
    this.series = data.series.map((series, order) => {
      const kind = Object.keys(series.data)[0];
      const role = series.role in LOOKS ? series.role : 'reference';
      const { label, data: { [kind]: values = [] } } = series;
      return { label, role, look: LOOKS[role], kind, values, order, key: `${series.role} ${label}` };
    });
    this.beside = this.series.filter((s) => s.kind === 'bars' || s.kind === 'points');
    this.flips = this.canFlip();
    this.box = html('div', 'panel');
    this.title = html('p', 'panel-title', this.box, data.title || '');
    const title = data.title ? data.title + ': ' : '';
    const side = data.y.label || this.names.join(', ');
    const said = `${title}${side} against ${data.x.label}. ${this.sideways ? ROW_KEYS : KEYS}`;
    const role = { role: 'application', 'aria-roledescription': 'chart', 'aria-label': said };
    this.svg = svg('svg', { class: this.sideways ? 'rows' : 'xy', tabindex: 0, ...role }, this.box);
    new Gestures(this);
  }

  get visible() { return this.series.filter((s) => !this.figure.hidden.has(s.key)); }
  get hasBars() { return this.series.some((s) => s.kind === 'bars'); }
  get logX() { return isLog(this.data.x); }
  get logY() { return isLog(this.data.y) !== (this.flips && this.figure.flipped); }
  /** The plotting area: left, top, right, bottom. */
  get bounds() { return [this.left, this.top, this.left + this.plot, this.top + this.height]; }

  all(of) { return this.series.flatMap((s) => s.values.flatMap((v) => of(s, v, this.sideways))); }

  /** Whether the other scale helps: where powers of ten are doubles; or all are positive and some small. */
  canFlip() {
    const ys = this.sideways ? [] : this.all(heights).filter(finite);
    const top = largest(ys, -Infinity);
    if (isLog(this.data.y)) return top > -300;
    const least = ys.filter((y) => y > 0).reduce((a, b) => Math.min(a, b), Infinity);
    return top >= 100 * least && ys.every((y) => y >= 0);
  }

  /** A given y as it is drawn. −∞ runs off the bottom, NaN leaves a gap. */
  lift(y) {
    const log = isLog(this.data.y);
    if (log === this.logY) return y !== null ? y : log ? -Infinity : NaN;
    if (log) return y === null ? 0 : 10 ** y;
    return y === null || y < 0 ? NaN : Math.log10(y);
  }

  /** The ranges of both axes before any zoom. All series count: a hidden one does not move the others. */
  home(plot) {
    const isRange = (range) => Array.isArray(range) && range.every(finite) && range[0] < range[1];
    const given = (axis) => (isRange(axis.range) ? axis.range : null);
    const padded = ([low, high], below, above) => [low - below * (high - low), high + above * (high - low)];
    const pad = this.series.some((s) => s.kind === 'points') ? 0.04 : 0;
    const xs = this.all(widths).concat(this.hasBars && !this.logX ? [0] : []);
    // No bar without a length.
    const before = this.hasBars && this.logX ? 0.08 : pad;
    const x = given(this.data.x) || this.withLabels(padded(extent(xs, this.logX), before, pad), plot);
    if (this.sideways) return { x, y: [this.names.length - 0.5, -0.5] };
    const fixed = given(this.data.y);
    const lifted = extent(this.all(heights).map((y) => this.lift(y)), this.logY);
    if (this.logY === isLog(this.data.y)) return { x, y: fixed || padded(lifted, pad, pad) };
    if (this.logY) return { x, y: lifted };
    return { x, y: [0, Math.min(lifted[1], fixed ? 10 ** fixed[1] : Infinity)] };
  }

  /** The ends of the axis at which the labels of all bars have room; half of the area is for the bars. */
  withLabels([low, high], plot) {
    const values = this.series.filter((s) => s.kind === 'bars').flatMap((s) => s.values);
    const ends = values.filter(({ value }) => finite(value) && value > low).map(({ value, label }) => {
      const room = clamp(plot + RIGHT - widthOf(label || '') - 7, 0.5 * plot, plot);
      return low + (value - low) * plot / room;
    });
    return [low, largest(ends, high)];
  }

  /** What the labels need, before the panel has a place. */
  measure(column, height) {
    const longest = largest(this.names.flatMap((name) => name.split(' ').map(widthOf)), 0.32 * column);
    this.lines = this.names.map((name) => wrap(name, Math.min(longest, 0.5 * column)));
    // Only neighbouring names can collide; the outermost must not stick out.
    const rows = this.lines.map((lines) => lines.length);
    const pairs = rows.slice(1).map((count, i) => (count + rows[i]) / 2);
    const deepest = largest([...pairs, rows[0] ?? 1, rows.at(-1) ?? 1], 1);
    const pitch = Math.max(17 * this.beside.length, LINE * deepest) + 9;
    this.height = this.sideways ? this.names.length * pitch : height;
    this.settle(column * 0.6);
    const most = Math.min(8, Math.floor(this.height / 27));
    this.side = this.sideways ? { major: [], minor: [] } : ticks(this.logY, ...this.y, most);
    const labels = this.side.major.map((tick) => tick.label).concat(this.lines.flat());
    this.yLabel = this.labelled.y ? wrap(this.data.y.label, this.height) : [];
    const label = this.yLabel.length ? LINE * this.yLabel.length + 3 : 0;
    this.left = Math.ceil(largest(labels.map(widthOf), 0) + 12 + label);
  }

  /** Takes its ranges, of a plotting area that is so wide. */
  settle(plot) {
    this.range = this.home(plot);
    this.x = this.zoom.x || this.range.x;
    this.y = this.zoom.y || this.range.y;
  }

  px(x) { return this.left + this.plot * clamp((x - this.x[0]) / (this.x[1] - this.x[0]), -1e8, 1e8); }
  py(y) { return this.top + this.height * clamp((this.y[1] - y) / (this.y[1] - this.y[0]), -1e8, 1e8); }
  value(axis, pixel) {
    const share = axis === 'x' ? (pixel - this.left) / this.plot : 1 - (pixel - this.top) / this.height;
    return this[axis][0] + share * (this[axis][1] - this[axis][0]);
  }

  /** The middle and thickness of a series' place in a category. */
  slot(series, category) {
    const thickness = Math.min(26, 0.8 * this.height / this.names.length / this.beside.length);
    const place = this.beside.indexOf(series) - (this.beside.length - 1) / 2;
    return [this.py(category) + place * thickness, 0.92 * thickness];
  }

  // ---- Drawing

  /** Draws everything, with `foot` of room below the plotting area. */
  draw(foot) {
    this.top = 8;
    const [left, top, right, bottom] = this.bounds;
    const node = this.svg;
    node.replaceChildren();
    const full = { width: right + this.right, height: Math.ceil(bottom + foot) };
    for (const key in full) node.setAttribute(key, full[key]);
    this.title.style.paddingLeft = left + 'px';
    this.title.style.maxWidth = full.width + 'px';
    const marks = this.footTicks();
    const ups = marks.major.map((t) => `M${this.px(t.at)} ${top}V${bottom}`);
    const downs = this.side.major.map((t) => `M${left} ${this.py(t.at)}H${right}`);
    svg('path', { class: 'grid', d: [...ups, ...downs].join('') }, node);
    const clip = `${this.figure.id}-clip-${this.index}`;
    const frame = { x: left - 1.5, y: top - 1.5, width: this.plot + 3, height: this.height + 3 };
    svg('rect', frame, svg('clipPath', { id: clip }, node));
    this.row = svg('rect', { class: 'row', x: left, width: this.plot, height: 0 }, node);
    const area = svg('g', {}, node);
    const rank = (s) => (s.kind === 'band' ? 0 : 10) + s.look.order;
    for (const series of [...this.visible].sort((a, b) => rank(a) - rank(b))) {
      const group = svg('g', { class: `series ${series.role}`, 'data-label': series.label }, area);
      drawSeries(this, series, group, `url(#${clip})`);
    }
    this.drawAxes(marks);
    this.cross = svg('g', {}, node);
    if (this.at !== null) this.point();
  }

  /** As many ticks as have room below. */
  footTicks() {
    let marks;
    for (let most = 8; most >= 1; most--) {
      marks = ticks(this.logX, ...this.x, most);
      const ends = marks.major.map(({ at, label }) => [this.px(at), widthOf(label) / 2]);
      if (ends.every(([x, half], i) => !i || x - half - 9 >= ends[i - 1][0] + ends[i - 1][1])) break;
    }
    return marks;
  }

  drawAxes(marks) {
    const [left, top, right, bottom] = this.bounds;
    const node = this.svg;
    const hasZero = this.sideways && !this.logX && this.x[0] < 0 && this.x[1] > 0;
    svg('path', {
      class: 'axis',
      d: [
        `M${left} ${top}V${bottom}H${right}`,
        hasZero ? `M${this.px(0)} ${top}V${bottom}` : '',
        ...marks.major.map(({ at }) => `M${this.px(at)} ${bottom}v5`),
        ...marks.minor.map((at) => `M${this.px(at)} ${bottom}v3`),
        ...this.side.major.map(({ at }) => `M${left} ${this.py(at)}h-5`),
        ...this.side.minor.map((at) => `M${left} ${this.py(at)}h-3`),
      ].join(''),
    }, node);
    const write = (x, y, anchor, text, more) =>
      rich(svg('text', { x, y, 'text-anchor': anchor, ...more }, node), text);
    for (const { at, label } of marks.major) {
      write(this.px(at), bottom + 20, 'middle', label, { class: 'tick-x' });
    }
    for (const { at, label } of this.side.major) {
      write(left - 9, this.py(at) + 4.5, 'end', label, { class: 'tick-y' });
    }
    this.lines.forEach((lines, i) => lines.forEach((line, j) => {
      write(left - 9, this.py(i) + 4.5 + LINE * (j - (lines.length - 1) / 2), 'end', line);
    }));
    this.yLabel.forEach((line, i) => {
      const transform = `translate(${13 + LINE * i} ${top + this.height / 2}) rotate(-90)`;
      write(0, 0, 'middle', line, { transform });
    });
    if (!this.labelled.x) return;
    wrap(this.data.x.label, this.plot).forEach((line, i) => {
      write(left + this.plot / 2, bottom + 20 + LINE * (i + 1) + 1, 'middle', line);
    });
  }

  // ---- Reading

  /** Two x nearer to each other than this are the same. */
  get near() { return 1e-9 * (this.range.x[1] - this.range.x[0]); }

  /** Where the crosshair can stand: categories, or all x of visible series. */
  stops() { return this.sideways ? this.names.map((_, i) => i) : stopsOf(this.visible, this.near); }

  read(series) {
    if (this.sideways) return readCategory(series, this.at, this.data.x.scale);
    return readAt(series, this.at, this.near, this.data.y.scale);
  }

  /** Crosshair and readout at `this.at`; `aloud` for those who listen. */
  point(aloud) {
    const [left, top, right, bottom] = this.bounds;
    const { at } = this;
    this.cross.replaceChildren();
    const x = this.sideways ? left + this.plot / 2 : this.px(at);
    if (!this.sideways && (x < left - 1 || x > right + 1)) return this.leave();
    if (this.sideways) {
      const pitch = this.height / this.names.length;
      this.row.setAttribute('y', this.py(at) - pitch / 2);
      this.row.setAttribute('height', pitch);
    } else svg('path', { class: 'cross', d: `M${x} ${top}v${this.height}` }, this.cross);
    const { x: axis } = this.data;
    const head = this.sideways ? this.names[at] : `${axis.label || 'x'} = ${shown(at, axis.scale)}`;
    const told = (s) => s.label && !(isNamedInPlace(this, s) && Math.abs(s.values[0].at - at) > this.near);
    const rows = this.visible.filter(told).map((series) => {
      const { text, ys } = this.read(series);
      for (const y of ys.map((value) => this.py(this.lift(value)))) {
        if (this.sideways || !(y >= top - 1 && y <= bottom + 1)) continue;
        svg('circle', { class: `dot ${series.role}`, cx: x, cy: y, r: 4 }, this.cross);
      }
      return { series, text };
    });
    return this.figure.tell(this, { head, rows, aloud }, [x, this.sideways ? this.py(at) : top + 4]);
  }

  leave() {
    this.at = null;
    this.cross.replaceChildren();
    this.row.setAttribute('height', 0);
    this.figure.tell(null);
  }

  pointTo(x, y) {
    const [left, , right] = this.bounds;
    const wanted = this.sideways ? this.value('y', y) : this.value('x', clamp(x, left, right));
    const [low, high] = this.sideways ? [-1, Infinity] : this.x;
    const seen = this.stops().filter((s) => s >= low && s <= high);
    if (!seen.length) return this.leave();
    this.at = seen.reduce((best, s) => (Math.abs(s - wanted) < Math.abs(best - wanted) ? s : best));
    return this.point();
  }

  // ---- Zooming

  /** Shows the given ranges, within those of the unzoomed panel and not absurdly close. */
  show(x, y) {
    if (this.sideways) return;
    const within = ([low, high], [first, last]) => {
      const span = clamp(high - low, 1e-6 * (last - first), last - first);
      const start = clamp((low + high - span) / 2, first, last - span);
      return span > (last - first) * (1 - 1e-9) ? null : [start, start + span];
    };
    this.zoom = { x: within(x, this.range.x), y: within(y, this.range.y) };
    this.figure.layout();
  }

  /** Shows the ranges `from`, larger by a factor, about a point; an x or y of null leaves that axis. */
  scale(factor, from, x, y) {
    const about = (range, centre) => range.map((end) => centre + (end - centre) * factor);
    this.show(x === null ? from.x : about(from.x, x), y === null ? from.y : about(from.y, y));
  }

  reset() { this.show(this.range.x, this.range.y); }
}
