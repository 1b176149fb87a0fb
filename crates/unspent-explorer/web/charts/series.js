// The data of a panel: one way to draw each kind.
import { marker, rich, shaded, stroke, svg, whisker, widthOf } from './elements.js';
import { clamp, finite } from './numbers.js';
import { along, cut, outline, trim } from './shapes.js';

/** Draws a series into `parent`; lines and areas are cut off by `clip`. */
export function drawSeries(panel, series, parent, clip) {
  const draw = { line: drawLine, band: drawBand, bars: drawBars, points: drawPoints }[series.kind];
  draw?.(panel, series, parent, clip);
}

const isInterval = ({ low, high }) => finite(low) && finite(high) && low < high;

/** What is drawn of a series: its kind, and whether its points have intervals. */
export const kindsOf = ({ kind, values }) =>
  new Set(kind === 'points' && values.some(isInterval) ? [kind, 'intervals'] : [kind]);

/** Whether a series is a point by itself, which is called where it is, and not in the legend. */
export const isNamedInPlace = (panel, { kind, values }) =>
  kind === 'points' && values.length === 1 && !panel.sideways && !isInterval(values[0]);

const placeX = (panel, x) => (x === null ? NaN : panel.px(x));
const placeY = (panel, y) => panel.py(panel.lift(y));

function drawLine(panel, { values, look, order }, parent, clip) {
  const [left, top, right, bottom] = panel.bounds;
  const lines = cut(values.map(([x, y]) => [placeX(panel, x), placeY(panel, y)]), panel.bounds);
  if (!lines.length) return;
  stroke(svg('g', { 'clip-path': clip }, parent), lines.map(outline).join(''), look);
  if (!look.marker) return;
  // Curves that run together show their markers in turn, off the edges.
  const spots = along(lines, Math.max(48, 0.2 * panel.plot), 0.25 + (0.37 * order) % 1);
  const isInner = ([x, y]) => x > left + 8 && x < right - 8 && y > top + 8 && y < bottom - 8;
  const inner = spots.filter(isInner);
  for (const spot of inner.length ? inner : spots) marker(parent, spot, look.marker);
}

function drawBand(panel, { values }, parent, clip) {
  const [left, top, right, bottom] = panel.bounds;
  let run = [];
  const paint = () => {
    const around = [...run.map((v) => [v[0], v[2]]), ...run.map((v) => [v[0], v[1]]).reverse()];
    const path = trim(trim(around, 0, left, right), 1, top, bottom);
    if (path.length > 2) svg('path', { class: 'band', 'clip-path': clip, d: outline(path) + 'Z' }, parent);
    run = [];
  };
  for (const [x, low, high] of values) {
    const at = [placeX(panel, x), placeY(panel, low), placeY(panel, high)];
    if (at.some(Number.isNaN)) paint();
    else run.push(at);
  }
  paint();
}

function drawBars(panel, series, parent) {
  const [left, , right] = panel.bounds;
  const base = panel.logX ? left : clamp(panel.px(0), left, right);
  series.values.slice(0, panel.names.length).forEach(({ value, label }, i) => {
    if (!finite(value)) return;
    const [y, thickness] = panel.slot(series, i);
    const end = clamp(panel.px(value), left, right);
    shaded(parent, Math.min(base, end), y - thickness / 2, Math.abs(end - base), thickness, series.role);
    if (!label) return;
    const out = end < base ? -1 : 1;
    const tip = end + out * (widthOf(label) + 5);
    const fits = tip >= left && tip <= right + panel.right;
    const anchor = (out > 0) === fits ? 'start' : 'end';
    const at = { x: end + (fits ? 5 : -5) * out, y: y + 4, 'text-anchor': anchor };
    rich(svg('text', { class: fits ? 'value' : 'value halo', ...at }, parent), label);
  });
}

function drawPoints(panel, series, parent, clip) {
  const inside = svg('g', { 'clip-path': clip }, parent);
  const near = (pixel) => clamp(pixel, -1e4, 1e4);
  for (const { at, low, value, high } of series.values) {
    const place = (v) => panel.sideways ? [near(placeX(panel, v)), panel.slot(series, at)[0]]
      : [near(panel.px(at)), near(placeY(panel, v))];
    const [from, to, middle] = [place(low), place(high), place(value)];
    // An interval of no width is a point.
    const wide = Math.hypot(from[0] - to[0], from[1] - to[1]) > 0.5;
    if (wide && [...from, ...to].every(finite)) whisker(inside, from, to, panel.sideways);
    if (middle.every(finite)) marker(inside, middle, series.look.marker, !series.look.marker);
    if (isNamedInPlace(panel, series)) nameBeside(panel, parent, middle, series.label);
  }
}

/** On the left of a point, below, where a curve that falls leaves room; or else on its right, above. */
function nameBeside(panel, parent, [x, y], label) {
  const [left, top, right, bottom] = panel.bounds;
  if (!(x >= left && x <= right && y >= top && y <= bottom)) return;
  const fits = x - widthOf(label) - 8 > left + 4 && y + 17 < bottom;
  const at = fits ? { x: x - 8, y: y + 17, 'text-anchor': 'end' } : { x: x + 8, y: y - 8 };
  rich(svg('text', { class: 'value halo', ...at }, parent), label);
}
