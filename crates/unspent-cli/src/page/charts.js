// Figures that answer to pointer, finger and keyboard, from a description of what is drawn. Colours are in the style
// sheet, by role. A page may forbid style attributes, so that styles are set by classes and by property.
(() => {
  'use strict';

  // Dashes, widths, markers and fillings as in the static drawings. No two roles share all of them.
  const LOOKS = {
    guarantee: { width: 3, dash: '', marker: '', shading: 'solid', order: 1 },
    alternative: { width: 2.2, dash: '13 4', marker: 'diamond', shading: 90, order: 2 },
    reference: { width: 1.3, dash: '', marker: '', shading: 'tint', order: 0 },
    baseline0: { width: 1.9, dash: '8 4', marker: 'circle', shading: 'tint', order: 3 },
    baseline1: { width: 1.9, dash: '2.5 3', marker: 'triangle', shading: 45, order: 3 },
    baseline2: { width: 1.9, dash: '9 3 2 3', marker: 'square', shading: 135, order: 3 },
    baseline3: { width: 1.9, dash: '5 3 1.5 3 1.5 3', marker: 'cross', shading: 0, order: 3 },
  };
  const CORNERS = {
    triangle: [[0, -1.25], [1.15, 0.85], [-1.15, 0.85]],
    square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  };
  const LINE = 17; // from line to line of 13 px text
  const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻';
  const HINT = 'In this and the other figures: point at a panel to read values, rounded to nearest (≈: between computed points). ' +
    'Drag, pinch or Ctrl + wheel to zoom; double-click to reset. Keys: arrows, +, −, Esc.';
  const finite = Number.isFinite;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // ---- Elements and text

  function svg(name, attributes, parent) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (parent) parent.append(node);
    return node;
  }

  function html(name, className, parent, text) {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) rich(node, text);
    if (parent) parent.append(node);
    return node;
  }

  /** Sets text with its superscripts really raised: fonts disagree about those of Unicode. */
  function rich(node, text) {
    const inSvg = node.namespaceURI.endsWith('svg');
    for (const piece of text.split(/([⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+)/)) {
      const raised = SUPERSCRIPTS.includes(piece[0]);
      const plain = raised ? lowered(piece) : piece;
      if (!piece) continue;
      if (!inSvg) node.append(raised ? Object.assign(document.createElement('sup'), { textContent: plain }) : plain);
      // Without text after it, a raised piece leaves nothing to be lowered again.
      else svg('tspan', raised ? { dy: '-0.5em', 'font-size': '72%' } : node.lastChild ? { dy: '0.36em' } : {}, node).textContent = plain;
    }
    return node;
  }

  const lowered = (text) => [...text].map((c) => '0123456789+−'[SUPERSCRIPTS.indexOf(c)]).join('');
  const superscript = (n) => [...String(n).replace('-', '⁻')].map((c) => SUPERSCRIPTS[c] || c).join('');
  /** For those who listen: 10⁻⁵ as 10^−5. */
  const spoken = (text) => text.replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+/g, (raised) => '^' + lowered(raised));

  const pen = document.createElement('canvas').getContext('2d');
  pen.font = '13px ' + getComputedStyle(document.body).fontFamily;
  const widthOf = (text) => pen.measureText(text).width;

  function wrap(text, room) {
    const lines = [];
    for (const word of text.split(/ +/).filter(Boolean)) {
      const longer = lines.length ? lines[lines.length - 1] + ' ' + word : word;
      if (lines.length && widthOf(longer) <= room) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  // ---- Numbers

  /** 10^log as m.mm×10ᵉ, and plainly near 1. */
  function power(log, digits = 2) {
    if (log === -Infinity) return '0';
    let exponent = Math.floor(log);
    let mantissa = (10 ** (log - exponent)).toFixed(digits);
    if (+mantissa >= 10) {
      mantissa = (1).toFixed(digits);
      exponent += 1;
    }
    if (exponent >= -2 && exponent <= 2) return (mantissa * 10 ** exponent).toFixed(Math.max(0, digits - exponent));
    return `${mantissa}×10${superscript(exponent)}`;
  }

  function decimal(value) {
    const size = Math.abs(value);
    const text = size === 0 ? '0'
      : size < 1e-4 || size >= 1e7 ? power(Math.log10(size), 3)
        : String(+size.toPrecision(size >= 1e5 ? 8 : 5));
    return value < 0 ? '−' + text : text;
  }

  /** A value given on an axis: null is 0 on a log axis, and unknown on another. */
  function shown(value, scale) {
    if (scale === 'log10') return power(value === null ? -Infinity : value);
    return finite(value) ? decimal(value) : '–';
  }

  // ---- Ticks

  /** The least of 1, 2, 5 times a power of ten that is at least `gap`. */
  function stepOf(gap) {
    const exponent = Math.floor(Math.log10(gap) + 1e-9);
    const digit = [1, 2, 5, 10].find((d) => d * 10 ** exponent >= gap * (1 - 1e-9)) || 10;
    return digit === 10 ? { digit: 1, exponent: exponent + 1 } : { digit, exponent };
  }
  const sizeOf = ({ digit, exponent }) => +`${digit}e${exponent}`;
  const minorOf = ({ digit, exponent }) => digit === 1 ? { digit: 2, exponent: exponent - 1 } : { digit: 1, exponent };

  function multiples(step, low, high) {
    const size = sizeOf(step);
    const first = Math.ceil(low / size - 1e-6);
    const count = clamp(Math.floor(high / size + 1e-6) - first + 1, 0, 1000);
    return Array.from({ length: count }, (_, i) => +`${BigInt((first + i) * step.digit)}e${step.exponent}`);
  }

  function coarsest(step, low, high, most) {
    while (multiples(step, low, high).length > most) step = stepOf(sizeOf(step) * 1.5);
    return step;
  }

  function between(step, majors, low, high) {
    return multiples(minorOf(step), low, high).filter((at) => majors.every((major) => Math.abs(major.at - at) > 0.01 * sizeOf(step)));
  }

  /** Labelled and small ticks, at most about `most` labelled. */
  function ticks(log, low, high, most) {
    if (!(high > low)) return { major: [], minor: [] };
    return log ? logTicks(low, high, most) : linearTicks(low, high, most);
  }

  function linearTicks(low, high, most) {
    const step = coarsest(stepOf((high - low) / most), low, high, most);
    const largest = Math.max(Math.abs(low), Math.abs(high));
    // Very small and very large values share a power of ten.
    const common = largest < 1e-3 || largest >= 1e6 ? Math.floor(Math.log10(largest)) : 0;
    const places = clamp(common - step.exponent, 0, 15);
    const name = (at) => {
      const text = Math.abs(at / 10 ** common).toFixed(places);
      return at === 0 ? '0' : (at < 0 ? '−' : '') + text + (common ? '×10' + superscript(common) : '');
    };
    const major = multiples(step, low, high).map((at) => ({ at, label: name(at) }));
    return { major, minor: between(step, major, low, high) };
  }

  function logTicks(low, high, most) {
    const step = coarsest(stepOf(Math.max(1, (high - low) / (most + 1))), low, high, most);
    const named = (digit, k) => k === 0 ? String(digit) : (digit === 1 ? '10' : digit + '×10') + superscript(k);
    if (sizeOf(step) > 1) {
      const major = multiples(step, low, high).map((at) => ({ at, label: named(1, at) }));
      return { major, minor: between(step, major, low, high) };
    }
    const marks = (digits) => {
      const all = [];
      for (let k = Math.floor(low); k <= high; k++) for (const d of digits) all.push({ at: k + Math.log10(d), label: named(d, k) });
      return all.filter(({ at }) => at >= low - 1e-9 && at <= high + 1e-9);
    };
    const every = marks([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const major = [marks([1]), marks([1, 2, 5]), every].find((list) => list.length >= 2 && list.length <= most);
    if (major) return { major, minor: every.map((tick) => tick.at).filter((at) => !major.some((tick) => tick.at === at)) };
    // Far into a decade: the values themselves, in units of its power.
    const k = Math.floor(low);
    const inner = linearTicks(10 ** (low - k), 10 ** (high - k), most);
    const lift = (at) => k + Math.log10(at);
    return {
      major: inner.major.map(({ at, label }) => ({ at: lift(at), label: k ? `${label}×10${superscript(k)}` : label })),
      minor: inner.minor.map(lift),
    };
  }

  /** All finite values, rounded outward to minor ticks. */
  function extent(values, log) {
    const known = values.filter(finite);
    if (!known.length) return log ? [-1, 0] : [0, 1];
    let low = known.reduce((a, b) => Math.min(a, b));
    let high = known.reduce((a, b) => Math.max(a, b));
    if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) {
      const half = low === 0 ? 0.5 : Math.max(0.5 * Math.min(Math.abs(low), 1), 1e-8 * Math.abs(low));
      [low, high] = [low - half, high + half];
    }
    let size = sizeOf(minorOf(stepOf((high - low) / 8)));
    if (log) size = Math.max(1, size);
    return [Math.floor(low / size + 1e-6) * size, Math.ceil(high / size - 1e-6) * size];
  }

  // ---- Shapes

  const outline = (points) => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(2)} ${y.toFixed(2)}`).join('');

  /** The pieces of a line inside a rectangle, segment by segment (Liang and Barsky). NaN parts it. */
  function cut(points, [left, top, right, bottom]) {
    const pieces = [];
    let piece = null;
    for (let i = 1; i < points.length; i++) {
      const [p, q] = [points[i - 1], points[i]];
      let [from, to] = [0, 1];
      for (const [d, low, high] of [[q[0] - p[0], left - p[0], right - p[0]], [q[1] - p[1], top - p[1], bottom - p[1]]]) {
        if (d !== 0) [from, to] = [Math.max(from, Math.min(low / d, high / d)), Math.min(to, Math.max(low / d, high / d))];
        else if (low > 0 || high < 0) to = -1;
      }
      if (!(from <= to)) {
        piece = null;
        continue;
      }
      const at = (t) => [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
      if (!piece || from > 0) pieces.push(piece = [at(from)]);
      piece.push(at(to));
      if (to < 1) piece = null;
    }
    return pieces;
  }

  /** The part of a polygon where coordinate `k` is from `low` to `high` (Sutherland and Hodgman). */
  function trim(polygon, k, low, high) {
    for (const [edge, sign] of [[low, 1], [high, -1]]) {
      polygon = polygon.flatMap((q, i) => {
        const p = polygon.at(i - 1);
        const [a, b] = [sign * (p[k] - edge), sign * (q[k] - edge)];
        const crossing = (a < 0) === (b < 0) ? [] : [[0, 1].map((j) => p[j] + (q[j] - p[j]) * a / (a - b))];
        return b < 0 ? crossing : [...crossing, q];
      });
    }
    return polygon;
  }

  /** Points along the pieces, `spacing` apart, the first after a share of that. */
  function along(pieces, spacing, share) {
    const found = [];
    for (const piece of pieces) {
      let left = spacing * share;
      for (let i = 1; i < piece.length; i++) {
        const [[x, y], [u, v]] = [piece[i - 1], piece[i]];
        const length = Math.hypot(u - x, v - y);
        for (; left <= length && length > 0; left += spacing) found.push([x + (u - x) * left / length, y + (v - y) * left / length]);
        left -= length;
      }
    }
    return found;
  }

  function marker(parent, [x, y], kind, full) {
    const r = 3.6;
    const corners = CORNERS[kind];
    if (corners) return svg('path', { class: 'marker', d: outline(corners.map(([a, b]) => [x + r * a, y + r * b])) + 'Z' }, parent);
    if (kind === 'cross') return svg('path', { class: 'marker', d: `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x - r} ${y + r}l${2 * r} ${-2 * r}` }, parent);
    return svg('circle', { class: full ? 'marker full' : 'marker', cx: x, cy: y, r }, parent);
  }

  function shaded(parent, x, y, width, height, role) {
    const { shading } = LOOKS[role];
    const box = { x, y, width: Math.max(width, 0), height };
    if (shading === 'tint') svg('rect', { ...box, class: 'ground' }, parent); // no grid through a bar
    const bar = svg('rect', { ...box, class: 'bar' }, parent);
    bar.style.fill = finite(shading) ? `url(#stripes-${role})` : 'var(--c)';
    if (shading === 'tint') bar.style.fillOpacity = 0.25;
  }

  function stroke(parent, path, { width, dash }) {
    svg('path', { class: 'line', d: path, 'stroke-width': width, 'stroke-dasharray': dash || 'none' }, parent);
  }

  function whisker(parent, [x, y], [u, v], sideways) {
    const [dx, dy] = sideways ? [0, 4] : [4, 0];
    const cap = (a, b) => `M${a - dx} ${b - dy}L${a + dx} ${b + dy}`;
    svg('path', { class: 'whisker', d: `M${x} ${y}L${u} ${v}${cap(x, y)}${cap(u, v)}` }, parent);
  }

  /** What a series looks like, for legend and readout. */
  function sample(role, kinds, width) {
    const look = LOOKS[role];
    const node = svg('svg', { class: role, width, height: 14, 'aria-hidden': 'true' });
    if (kinds.has('band')) svg('rect', { class: 'band', x: 1, y: 2, width: width - 2, height: 10 }, node);
    if (kinds.has('bars')) shaded(node, 1, 2, width - 2, 10, role);
    if (kinds.has('line')) stroke(node, `M0 7H${width}`, look);
    if (kinds.has('points')) whisker(node, [width / 2 - 9, 7], [width / 2 + 9, 7], true);
    if (kinds.has('points') || kinds.has('line') && look.marker) marker(node, [width / 2, 7], look.marker, !look.marker);
    return node;
  }

  // ---- A panel

  class Panel {
    constructor(figure, data, index) {
      Object.assign(this, { figure, data, index, zoom: { x: null, y: null }, at: null, touches: new Map() });
      this.names = data.categories || [];
      this.sideways = this.names.length > 0;
      this.series = data.series.map((series, order) => {
        const kind = Object.keys(series.data)[0];
        const role = series.role in LOOKS ? series.role : 'reference';
        return { label: series.label, role, look: LOOKS[role], kind, values: series.data[kind] || [], order, key: series.role + ' ' + series.label };
      });
      this.beside = this.series.filter((s) => s.kind === 'bars' || s.kind === 'points');
      const ys = this.sideways ? [] : this.series.flatMap((s) => s.values.flatMap((v) => this.heights(s, v))).filter(finite);
      const top = ys.reduce((a, b) => Math.max(a, b), -Infinity);
      const least = ys.filter((y) => y > 0).reduce((a, b) => Math.min(a, b), Infinity);
      // Another scale helps where powers of ten are doubles, and where no value is negative and some are small.
      this.flips = data.y.scale === 'log10' ? top > -300 : top >= 100 * least && ys.every((y) => y >= 0);

      this.box = html('div', 'panel');
      this.title = html('p', 'panel-title', this.box, data.title || '');
      const said = `${data.title ? data.title + ': ' : ''}${data.y.label || this.names.join(', ')} against ${data.x.label}. ` +
        (this.sideways ? 'Arrow keys move from row to row.' : 'Arrow keys read values, plus and minus zoom, Escape resets.');
      this.svg = svg('svg', { class: this.sideways ? 'rows' : 'xy', tabindex: 0, role: 'application', 'aria-roledescription': 'chart', 'aria-label': said }, this.box);
      for (const type of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel', 'pointerleave', 'dblclick', 'keydown', 'blur']) {
        this.svg.addEventListener(type, (event) => this[type](event));
      }
      this.svg.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    }

    /** The y values of a datum. */
    heights({ kind }, v) { return kind === 'line' ? [v[1]] : kind === 'band' ? [v[1], v[2]] : kind === 'points' ? [v.low, v.value, v.high] : []; }
    widths({ kind }, v) { return kind === 'bars' ? [v.value] : kind !== 'points' ? [v[0]] : this.sideways ? [v.low, v.value, v.high] : [v.at]; }
    get visible() { return this.series.filter((s) => !this.figure.hidden.has(s.key)); }
    get logX() { return this.data.x.scale === 'log10'; }
    get logY() { return (this.data.y.scale === 'log10') !== (this.flips && this.figure.flipped); }

    /** A given y as it is drawn. −∞ runs off the bottom, NaN leaves a gap. */
    lift(y) {
      const log = this.data.y.scale === 'log10';
      if (log === this.logY) return y !== null ? y : log ? -Infinity : NaN;
      if (log) return y === null ? 0 : 10 ** y;
      return y === null || y < 0 ? NaN : Math.log10(y);
    }

    /** The ranges of both axes before any zoom. All series count, so that a hidden one does not move the others. */
    home(plot) {
      const range = (axis) => Array.isArray(axis.range) && axis.range.every(finite) && axis.range[0] < axis.range[1] ? axis.range : null;
      const padded = ([low, high], below, above) => [low - below * (high - low), high + above * (high - low)];
      const all = (of) => this.series.flatMap((s) => s.values.flatMap((v) => of.call(this, s, v)));
      const pad = this.series.some((s) => s.kind === 'points') ? 0.04 : 0;
      const bars = this.series.filter((s) => s.kind === 'bars');
      // Room for a word after the longest bar.
      const word = Math.min(0.5, bars.flatMap((s) => s.values.map((v) => widthOf(v.label || '') + 4)).reduce((a, b) => Math.max(a, b), 0) / plot);
      const xs = all(this.widths).concat(bars.length && !this.logX ? [0] : []);
      const x = range(this.data.x) || padded(extent(xs, this.logX), pad, bars.length ? word / (1 - word) : pad);
      if (this.sideways) return { x, y: [this.names.length - 0.5, -0.5] };
      const fixed = range(this.data.y);
      const lifted = extent(all(this.heights).map((y) => this.lift(y)), this.logY);
      if (this.logY === (this.data.y.scale === 'log10')) return { x, y: fixed || padded(lifted, pad, pad) };
      if (this.logY) return { x, y: lifted };
      return { x, y: [0, Math.min(lifted[1], fixed ? 10 ** fixed[1] : Infinity)] };
    }

    /** What the labels need, before the panel has a place. */
    measure(column, height) {
      const room = clamp(Math.max(...this.names.flatMap((name) => name.split(' ').map(widthOf)), 0.32 * column), 0, 0.5 * column);
      this.lines = this.names.map((name) => wrap(name, room));
      const deepest = Math.max(1, ...this.lines.map((lines) => lines.length));
      this.height = this.sideways ? this.names.length * (Math.max(17 * this.beside.length, LINE * deepest) + 9) : height;
      this.range = this.home(column * 0.6);
      this.x = this.zoom.x || this.range.x;
      this.y = this.zoom.y || this.range.y;
      this.side = this.sideways ? { major: [], minor: [] } : ticks(this.logY, ...this.y, Math.min(8, Math.floor(this.height / 27)));
      const labels = this.side.major.map((tick) => tick.label).concat(this.lines.flat());
      this.yLabel = this.labelled.y ? wrap(this.data.y.label, this.height) : [];
      this.left = Math.ceil(Math.max(0, ...labels.map(widthOf)) + 12 + (this.yLabel.length ? LINE * this.yLabel.length + 3 : 0));
    }

    px(x) { return this.left + this.plot * clamp((x - this.x[0]) / (this.x[1] - this.x[0]), -1e8, 1e8); }
    py(y) { return this.top + this.height * clamp((this.y[1] - y) / (this.y[1] - this.y[0]), -1e8, 1e8); }
    value(axis, pixel) {
      const share = axis === 'x' ? (pixel - this.left) / this.plot : 1 - (pixel - this.top) / this.height;
      return this[axis][0] + share * (this[axis][1] - this[axis][0]);
    }

    draw(foot) {
      const { left, plot, height } = this;
      this.top = 8;
      const [right, bottom] = [left + plot, this.top + height];
      const node = this.svg;
      node.replaceChildren();
      const full = { width: right + this.right, height: Math.ceil(bottom + foot) };
      for (const key in full) node.setAttribute(key, full[key]);
      this.title.style.paddingLeft = left + 'px';
      this.title.style.maxWidth = full.width + 'px';

      // As many ticks as have room.
      let marks;
      for (let most = 8; most >= 1; most--) {
        marks = ticks(this.logX, ...this.x, most);
        const ends = marks.major.map(({ at, label }) => [this.px(at), widthOf(label) / 2]);
        if (ends.every(([x, half], i) => !i || x - half - 9 >= ends[i - 1][0] + ends[i - 1][1])) break;
      }
      const rule = (name, d) => svg('path', { class: name, d }, node);
      const [ups, downs] = [marks.major.map((t) => this.px(t.at)), this.side.major.map((t) => this.py(t.at))];
      rule('grid', ups.map((x) => `M${x} ${this.top}V${bottom}`).join('') + downs.map((y) => `M${left} ${y}H${right}`).join(''));
      const clip = `${this.figure.id}-clip-${this.index}`;
      svg('rect', { x: left - 1.5, y: this.top - 1.5, width: plot + 3, height: height + 3 }, svg('clipPath', { id: clip }, node));
      this.row = svg('rect', { class: 'row', x: left, width: plot, height: 0 }, node);
      const area = svg('g', {}, node);
      const rank = (s) => (s.kind === 'band' ? 0 : 10) + s.look.order;
      for (const series of [...this.visible].sort((a, b) => rank(a) - rank(b))) {
        this[series.kind]?.(series, svg('g', { class: `series ${series.role}`, 'data-label': series.label }, area), `url(#${clip})`);
      }

      const zero = this.sideways && !this.logX && this.x[0] < 0 && this.x[1] > 0 ? `M${this.px(0)} ${this.top}V${bottom}` : '';
      rule('axis', `M${left} ${this.top}V${bottom}H${right}${zero}` +
        ups.map((x) => `M${x} ${bottom}v5`).join('') + marks.minor.map((at) => `M${this.px(at)} ${bottom}v3`).join('') +
        downs.map((y) => `M${left} ${y}h-5`).join('') + this.side.minor.map((at) => `M${left} ${this.py(at)}h-3`).join(''));
      const write = (x, y, anchor, text, more) => rich(svg('text', { x, y, 'text-anchor': anchor, ...more }, node), text);
      marks.major.forEach((tick, i) => write(ups[i], bottom + 20, 'middle', tick.label, { class: 'tick-x' }));
      this.side.major.forEach((tick, i) => write(left - 9, downs[i] + 4.5, 'end', tick.label, { class: 'tick-y' }));
      this.lines.forEach((lines, i) => lines.forEach((line, j) =>
        write(left - 9, this.py(i) + 4.5 + LINE * (j - (lines.length - 1) / 2), 'end', line)));
      this.yLabel.forEach((line, i) => write(0, 0, 'middle', line, { transform: `translate(${13 + LINE * i} ${this.top + height / 2}) rotate(-90)` }));
      if (this.labelled.x) wrap(this.data.x.label, plot).forEach((line, i) => write(left + plot / 2, bottom + 20 + LINE * (i + 1) + 1, 'middle', line));
      this.cross = svg('g', {}, node);
      if (this.at !== null) this.point();
    }

    // One method for each kind of data, called by its name.

    line({ values, look, order }, parent, clip) {
      const bounds = [this.left, this.top, this.left + this.plot, this.top + this.height];
      const pieces = cut(values.map(([x, y]) => [x === null ? NaN : this.px(x), this.py(this.lift(y))]), bounds);
      if (!pieces.length) return;
      stroke(svg('g', { 'clip-path': clip }, parent), pieces.map(outline).join(''), look);
      if (!look.marker) return;
      // Curves that run together show their markers in turn, off the edges.
      const spots = along(pieces, Math.max(48, 0.2 * this.plot), 0.25 + (0.37 * order) % 1);
      const inner = spots.filter(([x, y]) => x > bounds[0] + 8 && x < bounds[2] - 8 && y > bounds[1] + 8 && y < bounds[3] - 8);
      for (const spot of inner.length ? inner : spots) marker(parent, spot, look.marker);
    }

    band({ values }, parent, clip) {
      let run = [];
      const paint = () => {
        const around = [...run.map((v) => [v[0], v[2]]), ...run.map((v) => [v[0], v[1]]).reverse()];
        const path = trim(trim(around, 0, this.left, this.left + this.plot), 1, this.top, this.top + this.height);
        if (path.length > 2) svg('path', { class: 'band', 'clip-path': clip, d: outline(path) + 'Z' }, parent);
        run = [];
      };
      for (const [x, low, high] of values) {
        const at = [x === null ? NaN : this.px(x), this.py(this.lift(low)), this.py(this.lift(high))];
        if (at.some(Number.isNaN)) paint();
        else run.push(at);
      }
      paint();
    }

    /** The middle and thickness of a series' place in a category. */
    slot(series, category) {
      const thickness = Math.min(26, 0.8 * this.height / this.names.length / this.beside.length);
      return [this.py(category) + (this.beside.indexOf(series) - (this.beside.length - 1) / 2) * thickness, 0.92 * thickness];
    }

    bars(series, parent) {
      const [left, right] = [this.left, this.left + this.plot];
      const base = this.logX ? left : clamp(this.px(0), left, right);
      series.values.slice(0, this.names.length).forEach(({ value, label }, i) => {
        if (!finite(value)) return;
        const [y, thickness] = this.slot(series, i);
        const end = clamp(this.px(value), left, right);
        shaded(parent, Math.min(base, end), y - thickness / 2, Math.abs(end - base), thickness, series.role);
        if (!label) return;
        const out = end < base ? -1 : 1;
        const tip = end + out * (widthOf(label) + 5);
        const fits = tip >= left && tip <= right + this.right;
        const text = { class: fits ? 'value' : 'value halo', x: end + (fits ? 5 : -5) * out, y: y + 4, 'text-anchor': (out > 0) === fits ? 'start' : 'end' };
        rich(svg('text', text, parent), label);
      });
    }

    points(series, parent, clip) {
      const inside = svg('g', { 'clip-path': clip }, parent);
      for (const { at, low, value, high } of series.values) {
        const near = (pixel) => clamp(pixel, -1e4, 1e4);
        const place = (v) => this.sideways ? [near(this.px(v === null ? NaN : v)), this.slot(series, at)[0]] : [near(this.px(at)), near(this.py(this.lift(v)))];
        const [from, to, middle] = [place(low), place(high), place(value)];
        // An interval of no width is a point.
        const wide = Math.hypot(from[0] - to[0], from[1] - to[1]) > 0.5;
        if (wide && [...from, ...to].every(finite)) whisker(inside, from, to, this.sideways);
        if (middle.every(finite)) marker(inside, middle, series.look.marker, !series.look.marker);
      }
    }

    // ---- Reading

    /** Where the crosshair can stand: categories, or all x of visible series. */
    stops() {
      if (this.sideways) return this.names.map((_, i) => i);
      const xs = this.visible.flatMap((s) => s.values.flatMap((v) => this.widths(s, v))).filter(finite).sort((a, b) => a - b);
      const near = 1e-9 * (this.range.x[1] - this.range.x[0]);
      return xs.filter((x, i) => !i || x - xs[i - 1] > near);
    }

    /** What a series says at a stop: its text, and heights to mark. */
    read(series, at) {
      const { kind, values } = series;
      if (kind === 'bars') return { text: values[at] ? values[at].label || shown(values[at].value, this.data.x.scale) : '–', ys: [] };
      const scale = this.sideways ? this.data.x.scale : this.data.y.scale;
      const near = 1e-9 * (this.range.x[1] - this.range.x[0]);
      if (kind === 'points') {
        const found = values.find((v) => Math.abs(v.at - at) <= (this.sideways ? 0.25 : near));
        if (!found) return { text: '–', ys: [] };
        const [low, value, high] = [found.low, found.value, found.high].map((v) => shown(v, scale));
        const interval = `${low} to ${high}`;
        return { text: found.value === null ? interval : low === high || found.low === null ? value : `${value} (${interval})`, ys: [found.value] };
      }
      const text = (ys) => ys.map((y) => shown(y, scale)).join(' to ');
      const exact = values.find((v) => v[0] !== null && Math.abs(v[0] - at) <= near);
      if (exact) return { text: text(exact.slice(1)), ys: exact.slice(1) };
      const i = values.findIndex((v, i) => i && (v[0] - at) * (values[i - 1][0] - at) < 0);
      if (i < 1 || [...values[i], ...values[i - 1]].includes(null)) return { text: '–', ys: [] };
      const [p, q] = [values[i - 1], values[i]];
      const ys = p.slice(1).map((y, k) => y + (q[k + 1] - y) * (at - p[0]) / (q[0] - p[0]));
      return { text: '≈ ' + text(ys), ys };
    }

    /** Crosshair and readout at `this.at`. */
    point(aloud) {
      const { left, top, plot, height, at } = this;
      this.cross.replaceChildren();
      const x = this.sideways ? left + plot / 2 : this.px(at);
      if (!this.sideways && (x < left - 1 || x > left + plot + 1)) return this.leave();
      if (this.sideways) {
        const pitch = height / this.names.length;
        this.row.setAttribute('y', this.py(at) - pitch / 2);
        this.row.setAttribute('height', pitch);
      } else svg('path', { class: 'cross', d: `M${x} ${top}v${height}` }, this.cross);
      const head = this.sideways ? this.names[at] : `${this.data.x.label || 'x'} = ${shown(at, this.data.x.scale)}`;
      const rows = this.visible.filter((s) => s.label).map((series) => {
        const { text, ys } = this.read(series, at);
        for (const y of ys.map((y) => this.py(this.lift(y)))) {
          if (!this.sideways && y >= top - 1 && y <= top + height + 1) svg('circle', { class: `dot ${series.role}`, cx: x, cy: y, r: 4 }, this.cross);
        }
        return { series, text };
      });
      this.figure.tell(this, head, rows, this.sideways ? this.py(at) : top + 4, x, aloud);
    }

    leave() {
      this.at = null;
      this.cross.replaceChildren();
      this.row.setAttribute('height', 0);
      this.figure.tell(null);
    }

    pointTo(x, y) {
      const stops = this.stops();
      if (!stops.length) return this.leave();
      const wanted = this.sideways ? this.value('y', y) : this.value('x', clamp(x, this.left, this.left + this.plot));
      const [low, high] = this.sideways ? [-1, Infinity] : this.x;
      const seen = stops.filter((s) => s >= low && s <= high);
      if (!seen.length) return this.leave();
      this.at = seen.reduce((best, s) => Math.abs(s - wanted) < Math.abs(best - wanted) ? s : best);
      this.point();
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

    scale(factor, from, x, y) {
      const about = ([low, high], centre) => [centre + (low - centre) * factor, centre + (high - centre) * factor];
      this.show(x === null ? from.x : about(from.x, x), y === null ? from.y : about(from.y, y));
    }

    // ---- Events, called by their names

    position(event) {
      const { left, top } = this.svg.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    }

    pointerdown(event) {
      const at = this.position(event);
      if (event.pointerType !== 'touch') {
        if (event.button !== 0 || this.sideways) return;
        this.drag = { from: at, box: svg('rect', { class: 'select' }, this.svg) };
      } else {
        this.touches.set(event.pointerId, at);
        if (this.touches.size === 2) this.pinch = { from: [...this.touches.values()], x: this.x, y: this.y };
        this.pointTo(...at);
      }
      this.svg.setPointerCapture(event.pointerId);
    }

    pointermove(event) {
      const at = this.position(event);
      if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, at);
      if (this.drag) return this.dragged(at);
      if (!this.pinch) return this.pointTo(...at);
      const apart = ([p, q]) => Math.max(10, Math.hypot(p[0] - q[0], p[1] - q[1]));
      const [p, q] = this.pinch.from;
      this.x = this.pinch.x;
      this.y = this.pinch.y;
      this.scale(apart(this.pinch.from) / apart([...this.touches.values()]), this.pinch, this.value('x', (p[0] + q[0]) / 2), this.value('y', (p[1] + q[1]) / 2));
    }

    dragged([u, v]) {
      const [x, y] = this.drag.from;
      const [left, top, right, bottom] = [this.left, this.top, this.left + this.plot, this.top + this.height];
      const flat = Math.abs(v - y) < 16; // a range of x
      const xs = [x, u].map((a) => clamp(a, left, right)).sort((a, b) => a - b);
      const ys = flat ? [top, bottom] : [y, v].map((a) => clamp(a, top, bottom)).sort((a, b) => a - b);
      this.drag.area = xs[1] - xs[0] > 6 && ys[1] - ys[0] > 6 ? { xs, ys } : null;
      if (this.drag.area) this.leave();
      const box = { x: xs[0], y: ys[0], width: xs[1] - xs[0], height: this.drag.area ? ys[1] - ys[0] : 0 };
      for (const key in box) this.drag.box.setAttribute(key, box[key]);
    }

    pointerup(event) {
      const area = this.drag && this.drag.area;
      this.pointercancel(event);
      if (area) this.show(area.xs.map((x) => this.value('x', x)), [...area.ys].reverse().map((y) => this.value('y', y)));
    }

    pointercancel(event) {
      if (this.drag) this.drag.box.remove();
      this.drag = null;
      this.touches.delete(event.pointerId);
      if (this.touches.size < 2) this.pinch = null;
    }

    // A finger leaves when it is lifted, and then wants to read.
    pointerleave(event) { if (event.pointerType !== 'touch' && !this.drag) this.leave(); }
    blur() { this.leave(); }
    dblclick() { this.show(this.range.x, this.range.y); }

    wheel(event) {
      if (!event.ctrlKey && !event.metaKey || this.sideways) return; // the page scrolls
      event.preventDefault();
      const [x, y] = this.position(event);
      this.scale(Math.exp(clamp(event.deltaY, -100, 100) / 300), { x: this.x, y: this.y }, this.value('x', x), this.value('y', y));
    }

    keydown(event) {
      const { key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[key];
      const closer = { '+': 0.5, '=': 0.5, '-': 2, '−': 2, _: 2 }[key];
      const stops = this.stops();
      if (key === 'Escape') {
        if (this.drag) this.drag.box.remove();
        this.drag = null;
        this.leave();
        this.show(this.range.x, this.range.y);
      } else if (closer && !this.sideways) {
        this.scale(closer, { x: this.x, y: this.y }, this.at === null ? (this.x[0] + this.x[1]) / 2 : this.at, null);
      } else if (step && stops.length && (this.sideways || !/Up|Down/.test(key))) {
        const middle = this.sideways ? 0 : (this.x[0] + this.x[1]) / 2;
        const now = this.at === null ? middle : this.at;
        const nearest = stops.reduce((best, s, i) => Math.abs(s - now) < Math.abs(stops[best] - now) ? i : best, 0);
        const first = this.at === null && finite(step);
        this.at = stops[first ? nearest : clamp(nearest + step * (event.shiftKey ? 10 : 1), 0, stops.length - 1)];
        // The view follows.
        const [low, high] = this.x;
        const by = this.sideways || this.at >= low && this.at <= high ? 0 : this.at - (low + high) / 2;
        if (by) this.show([low + by, high + by], this.y);
        this.point(true);
      } else return;
      event.preventDefault();
    }
  }

  // ---- A figure

  class Figure {
    constructor(figure, data) {
      this.id = figure.id;
      this.hidden = new Set();
      this.flipped = false;
      this.panels = [];
      const live = this.live = html('div', 'live');
      this.readout = html('div', 'readout');
      this.readout.hidden = true;
      this.readout.setAttribute('aria-hidden', 'true');
      this.voice = html('div', 'sr');
      this.voice.setAttribute('aria-live', 'polite');
      figure.prepend(live);
      figure.classList.add('enhanced');
      this.replace(data);
      // Width 0: hidden, as on paper.
      new ResizeObserver(() => { if (live.clientWidth && live.clientWidth !== this.width) this.layout(); }).observe(live);
    }

    /** Draws other data. What a reader has hidden, zoomed or is pointing at stays so, where it still is there. */
    replace(data) {
      if (!data.panels.length) throw new Error('nothing to draw');
      const { live, panels: old } = this;
      const reachable = () => [...live.querySelectorAll('button, svg[tabindex]')];
      const focused = reachable().indexOf(document.activeElement);
      const others = [...document.querySelectorAll('.live .hint')].filter((hint) => !live.contains(hint));
      this.columns = clamp(data.columns || 1, 1, data.panels.length);
      this.panels = data.panels.map((panel, i) => new Panel(this, panel, i));
      for (const [i, panel] of this.panels.entries()) {
        const before = old[i] && JSON.stringify([old[i].names, old[i].data.x.label]) === JSON.stringify([panel.names, panel.data.x.label]) ? old[i] : null;
        if (before) Object.assign(panel, { zoom: before.zoom, at: before.at });
      }
      live.className = this.columns > 1 ? 'live' : 'live single';
      live.replaceChildren();
      if (data.title) html('p', 'chart-title', live, data.title);
      if (data.subtitle) html('p', 'chart-subtitle', live, data.subtitle);
      this.tools(html('div', 'toolbar', live));
      this.grid = html('div', 'panels', live);
      this.grid.append(...this.panels.map((panel) => panel.box));
      for (const note of data.notes || []) html('p', 'notes', live, note);
      if (!others.length && this.panels.some((panel) => !panel.sideways)) html('p', 'hint', live, HINT);
      live.append(this.readout, this.voice);
      if (this.panels.every((panel) => panel.at === null)) this.tell(null);
      this.layout();
      if (focused >= 0) reachable()[focused]?.focus({ preventScroll: true });
    }

    tools(bar) {
      this.entries = new Map();
      for (const series of this.panels.flatMap((panel) => panel.series).filter((s) => s.label)) {
        const entry = this.entries.get(series.key) || { ...series, kinds: new Set() };
        entry.kinds.add(series.kind);
        this.entries.set(series.key, entry);
      }
      const legend = html('div', 'legend', bar);
      legend.setAttribute('role', 'group');
      legend.setAttribute('aria-label', 'Series shown');
      for (const [key, { label, role, kinds }] of this.entries) {
        const button = html('button', '', legend);
        button.append(sample(role, kinds, 40), html('span', '', null, label));
        button.setAttribute('aria-pressed', String(!this.hidden.has(key)));
        button.addEventListener('click', () => {
          if (!this.hidden.delete(key)) this.hidden.add(key);
          button.setAttribute('aria-pressed', String(!this.hidden.has(key)));
          this.layout();
        });
      }
      if (this.panels.every((panel) => panel.sideways)) return;
      const tools = html('div', 'tools', bar);
      const switchable = this.panels.filter((panel) => panel.flips);
      if (switchable.length) {
        const name = () => switchable[0].logY ? 'Linear scale' : 'Log scale';
        const button = html('button', 'scale', tools, name());
        button.addEventListener('click', () => {
          this.flipped = !this.flipped;
          button.textContent = name();
          for (const panel of switchable) panel.zoom.y = null;
          this.layout();
        });
      }
      this.reset = html('button', 'reset', tools, 'Reset zoom');
      this.reset.addEventListener('click', () => {
        for (const panel of this.panels) panel.zoom = { x: null, y: null };
        this.layout();
      });
    }

    /** Gives every panel its place and draws it. */
    layout() {
      const { panels } = this;
      this.width = this.live.clientWidth;
      if (!this.width) return;
      const least = panels.some((panel) => panel.sideways) ? 310 : 215;
      const most = Math.max(1, Math.floor(this.width / least));
      // A divisor of the wanted number keeps rows even.
      let columns = this.columns;
      while (columns > most || this.columns % columns) columns--;
      const width = Math.min(this.width, columns === 1 ? 700 : 480 * columns);
      const column = width / columns;
      panels.forEach((panel, i) => {
        const same = (other, axis) => other && other.data[axis].label === panel.data[axis].label;
        panel.labelled = {
          x: panel.data.x.label && (columns === 1 || !same(panels[i + columns], 'x')),
          y: panel.data.y.label && !same(i % columns ? panels[i - 1] : null, 'y'),
        };
        panel.measure(column, panels.length > 1 ? 195 : this.width < 500 ? 260 : 330);
      });
      const lefts = Array.from({ length: columns }, (_, c) => Math.max(...panels.filter((_, i) => i % columns === c).map((panel) => panel.left)));
      const right = 16;
      const square = panels.every(({ range, logX, logY, sideways }) => !sideways && logX === logY && String(range.x) === String(range.y));
      let plot = Math.max(60, (width - lefts.reduce((a, b) => a + b) - right * columns) / columns);
      if (square) plot = Math.min(plot, 400);
      this.grid.style.gridTemplateColumns = lefts.map((left) => `${left + plot + right}px`).join(' ');
      panels.forEach((panel, i) => {
        const row = panels.slice(i - i % columns, i - i % columns + columns);
        const height = square ? plot : Math.max(...row.map((p) => p.height));
        Object.assign(panel, { right, plot, left: lefts[i % columns], height });
        const labels = row.map((p) => p.labelled.x ? wrap(p.data.x.label, plot).length : 0);
        panel.draw(25 + (Math.max(...labels) ? LINE * Math.max(...labels) + 4 : 2));
      });
      if (this.reset) this.reset.disabled = panels.every((panel) => !panel.zoom.x && !panel.zoom.y);
    }

    /** Shows what was read beside the crosshair; says it aloud for those at the keyboard only, as a pointer never rests. */
    tell(panel, head, rows, y, x, aloud) {
      const { readout } = this;
      readout.hidden = !panel;
      readout.replaceChildren();
      if (!panel) return;
      html('b', '', readout, head);
      const body = html('tbody', '', html('table', '', readout));
      for (const { series, text } of rows) {
        const row = html('tr', '', body);
        html('td', '', row).append(sample(series.role, new Set([series.kind]), 26));
        html('td', '', row, series.label);
        html('td', '', row, text);
      }
      const [frame, box] = [this.live.getBoundingClientRect(), panel.svg.getBoundingClientRect()];
      const { offsetWidth: width, offsetHeight: height } = readout;
      const middle = box.left - frame.left + x;
      // Beside the crosshair where there is room; else below the panel, clear of what is read.
      const beside = [middle + 14, middle - width - 14].find((at) => at >= 0 && at + width <= this.width);
      const rowwise = panel.sideways || beside === undefined;
      const left = rowwise ? clamp(middle - width / 2, 0, Math.max(0, this.width - width)) : beside;
      const below = panel.sideways ? y + panel.height / panel.names.length / 2 + 4 : panel.top + panel.height + 26;
      const above = y - panel.height / Math.max(1, panel.names.length) / 2 - height - 4;
      const top = !rowwise ? y : panel.sideways && box.top + below + height > window.innerHeight ? above : below;
      readout.style.transform = `translate(${Math.round(left)}px, ${Math.round(box.top - frame.top + top)}px)`;
      if (aloud) this.voice.textContent = spoken([head, ...rows.map(({ series, text }) => `${series.label}: ${text}`)].join('; '));
    }
  }

  // ---- For pages

  /** The patterns of striped bars, once a page. */
  function stripes() {
    const defs = svg('svg', { class: 'defs', width: 0, height: 0, 'aria-hidden': 'true' });
    for (const [role, { shading }] of Object.entries(LOOKS).filter(([, look]) => finite(look.shading))) {
      const pattern = svg('pattern', { id: 'stripes-' + role, class: role, width: 4, height: 4, patternUnits: 'userSpaceOnUse', patternTransform: `rotate(${shading})` }, defs);
      svg('rect', { width: 4, height: 4, class: 'ground' }, pattern);
      svg('rect', { width: 4, height: 1.6, class: 'stripe' }, pattern);
    }
    document.body.append(defs);
  }

  globalThis.charts = { Figure, stripes };
})();
