// A figure that answers to pointer, finger and keyboard, from a description of what is drawn: panels, their
// legend and tools, and the readout beside the crosshair.
import { LINE, html, sample, wrap } from './elements.js';
import { clamp, spoken } from './numbers.js';
import { Panel, RIGHT } from './panel.js';
import { isNamedInPlace, kindsOf } from './series.js';

const HINT = 'In this and the other figures: point at a panel to read values, rounded to nearest ' +
  '(≈: between computed points). Drag, pinch or Ctrl + wheel to zoom; double-click to reset. ' +
  'Keys: arrows, +, −, Esc.';

/** Panels of bars that show the same quantity get the same axis, as in the static drawings. */
function share(panels) {
  const free = panels.filter((panel) => panel.hasBars && !panel.data.x.range);
  const own = free.map((panel) => panel.range.x);
  for (const panel of free) {
    const isAlike = (other) => other.data.x.label === panel.data.x.label && other.logX === panel.logX;
    const ends = own.filter((_, i) => isAlike(free[i]));
    panel.range.x = [Math.min(...ends.map(([low]) => low)), Math.max(...ends.map(([, high]) => high))];
    panel.x = panel.range.x;
  }
}

export class Figure {
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
    new ResizeObserver(() => {
      if (live.clientWidth && live.clientWidth !== this.width) this.layout();
    }).observe(live);
  }

  /** Draws other data. What a reader has hidden, zoomed or points at stays so, where it still is there. */
  replace(data) {
    if (!data.panels.length) throw new Error('nothing to draw');
    const { live, panels: old } = this;
    const reachable = () => [...live.querySelectorAll('button, svg[tabindex]')];
    const focused = reachable().indexOf(document.activeElement);
    this.columns = clamp(data.columns || 1, 1, data.panels.length);
    this.panels = data.panels.map((panel, i) => new Panel(this, panel, i));
    const axes = (panel) => JSON.stringify([panel.names, panel.data.x.label]);
    for (const [i, panel] of this.panels.entries()) {
      if (!old[i] || axes(old[i]) !== axes(panel)) continue;
      Object.assign(panel, { zoom: old[i].zoom, at: old[i].at });
    }
    this.write(data);
    if (this.panels.every((panel) => panel.at === null)) this.tell(null);
    this.layout();
    if (focused >= 0) reachable()[focused]?.focus({ preventScroll: true });
  }

  /** Everything around the panels. */
  write(data) {
    const { live } = this;
    const others = [...document.querySelectorAll('.live .hint')].filter((hint) => !live.contains(hint));
    live.className = this.columns > 1 ? 'live' : 'live single';
    live.replaceChildren();
    if (data.title) html('p', 'chart-title', live, data.title);
    if (data.subtitle) html('p', 'chart-subtitle', live, data.subtitle);
    const bar = html('div', 'toolbar', live);
    this.legend(html('div', 'legend', bar));
    if (!this.panels.every((panel) => panel.sideways)) this.tools(html('div', 'tools', bar));
    this.grid = html('div', 'panels', live);
    this.grid.append(...this.panels.map((panel) => panel.box));
    for (const note of data.notes || []) html('p', 'notes', live, note);
    const zoomable = this.panels.some((panel) => !panel.sideways);
    if (!others.length && zoomable) html('p', 'hint', live, HINT);
    live.append(this.readout, this.voice);
  }

  legend(node) {
    const entries = new Map();
    const listed = (panel) => panel.series.filter((s) => s.label && !isNamedInPlace(panel, s));
    for (const series of this.panels.flatMap(listed)) {
      const entry = entries.get(series.key) || { ...series, kinds: new Set() };
      for (const kind of kindsOf(series)) entry.kinds.add(kind);
      entries.set(series.key, entry);
    }
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', 'Series shown');
    for (const [key, { label, role, kinds }] of entries) {
      const button = html('button', '', node);
      const press = () => button.setAttribute('aria-pressed', String(!this.hidden.has(key)));
      button.append(sample(role, kinds, 40), html('span', '', null, label));
      press();
      button.addEventListener('click', () => {
        if (!this.hidden.delete(key)) this.hidden.add(key);
        press();
        this.layout();
      });
    }
  }

  tools(node) {
    const switchable = this.panels.filter((panel) => panel.flips);
    if (switchable.length) {
      const name = () => (switchable[0].logY ? 'Linear scale' : 'Log scale');
      const button = html('button', 'scale', node, name());
      button.addEventListener('click', () => {
        this.flipped = !this.flipped;
        button.textContent = name();
        for (const panel of switchable) panel.zoom.y = null;
        this.layout();
      });
    }
    this.reset = html('button', 'reset', node, 'Reset zoom');
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
    panels.forEach((panel, i) => {
      panel.labelled = this.labelled(i, columns);
      panel.measure(width / columns, panels.length > 1 ? 195 : this.width < 500 ? 260 : 330);
    });
    const inColumn = (c) => panels.filter((_, i) => i % columns === c);
    const lefts = Array.from({ length: columns }, (_, c) => Math.max(...inColumn(c).map((p) => p.left)));
    let plot = Math.max(60, (width - lefts.reduce((a, b) => a + b) - RIGHT * columns) / columns);
    // Where both axes are the same, so are their lengths.
    const square = panels.every(({ range, logX, logY, sideways }) =>
      !sideways && logX === logY && String(range.x) === String(range.y));
    if (square) plot = Math.min(plot, 400);
    for (const panel of panels.filter((p) => p.sideways)) panel.settle(plot);
    share(panels);
    this.grid.style.gridTemplateColumns = lefts.map((left) => `${left + plot + RIGHT}px`).join(' ');
    panels.forEach((panel, i) => {
      const row = panels.slice(i - i % columns, i - i % columns + columns);
      const height = square ? plot : Math.max(...row.map((p) => p.height));
      Object.assign(panel, { right: RIGHT, plot, left: lefts[i % columns], height });
      const deepest = Math.max(...row.map((p) => (p.labelled.x ? wrap(p.data.x.label, plot).length : 0)));
      panel.draw(25 + (deepest ? LINE * deepest + 4 : 2));
    });
    if (this.reset) this.reset.disabled = panels.every((panel) => !panel.zoom.x && !panel.zoom.y);
  }

  /** Which axes of panel `i` are labelled: not those whose neighbour says the same. */
  labelled(i, columns) {
    const { panels } = this;
    const { data } = panels[i];
    const same = (other, axis) => other && other.data[axis].label === data[axis].label;
    return {
      x: data.x.label && (columns === 1 || !same(panels[i + columns], 'x')),
      y: data.y.label && !same(i % columns ? panels[i - 1] : null, 'y'),
    };
  }

  /**
   * Shows what was read in a panel beside the crosshair at [x, y], or nothing without a panel. Says it
   * aloud only where a key asked for it: a pointer never rests.
   */
  tell(panel, read, at) {
    const { readout } = this;
    readout.hidden = !panel;
    readout.replaceChildren();
    if (!panel) return;
    const { head, rows, aloud } = read;
    html('b', '', readout, head);
    const body = html('tbody', '', html('table', '', readout));
    for (const { series, text } of rows) {
      const row = html('tr', '', body);
      html('td', '', row).append(sample(series.role, kindsOf(series), 26));
      html('td', '', row, series.label);
      html('td', '', row, text);
    }
    this.place(panel, at);
    if (!aloud) return;
    this.voice.textContent = spoken([head, ...rows.map((r) => `${r.series.label}: ${r.text}`)].join('; '));
  }

  /** Puts the readout beside the crosshair if there is room; else below the panel, clear of what is read. */
  place(panel, [x, y]) {
    const { readout } = this;
    const [frame, box] = [this.live.getBoundingClientRect(), panel.svg.getBoundingClientRect()];
    const { offsetWidth: width, offsetHeight: height } = readout;
    const middle = box.left - frame.left + x;
    const fits = (at) => at >= 0 && at + width <= this.width;
    const beside = [middle + 14, middle - width - 14].find(fits);
    const rowwise = panel.sideways || beside === undefined;
    const left = rowwise ? clamp(middle - width / 2, 0, Math.max(0, this.width - width)) : beside;
    const half = panel.height / Math.max(1, panel.names.length) / 2;
    const below = panel.sideways ? y + half + 4 : panel.top + panel.height + 26;
    const tooLow = panel.sideways && box.top + below + height > window.innerHeight;
    const top = !rowwise ? y : tooLow ? y - half - height - 4 : below;
    const down = Math.round(box.top - frame.top + top);
    readout.style.transform = `translate(${Math.round(left)}px, ${down}px)`;
  }
}
