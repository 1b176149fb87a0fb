// Reading values off a panel: where the crosshair can stand, and what each series says there.
import { finite, shown } from './numbers.js';

/** The y values of a datum. */
export function heights({ kind }, v) {
  if (kind === 'line') return [v[1]];
  if (kind === 'band') return [v[1], v[2]];
  return kind === 'points' ? [v.low, v.value, v.high] : [];
}

/** The x values of a datum; `sideways` where categories take the place of the y axis. */
export function widths({ kind }, v, sideways) {
  if (kind === 'bars') return [v.value];
  if (kind !== 'points') return [v[0]];
  return sideways ? [v.low, v.value, v.high] : [v.at];
}

/** All x of some series, in order, those nearer to each other than `near` once. */
export function stopsOf(series, near) {
  const xs = series.flatMap((s) => s.values.flatMap((v) => widths(s, v, false)));
  const sorted = xs.filter(finite).sort((a, b) => a - b);
  return sorted.filter((x, i) => !i || x - sorted[i - 1] > near);
}

const UNKNOWN = { text: '–', ys: [] };

/** What a series says at a category: its text. */
export function readCategory({ kind, values }, at, scale) {
  if (kind === 'points') return interval(values.find((v) => Math.abs(v.at - at) <= 0.25), scale);
  return values[at] ? { text: values[at].label || shown(values[at].value, scale), ys: [] } : UNKNOWN;
}

/** What a series says at an x: its text, and heights to mark. */
export function readAt({ kind, values }, at, near, scale) {
  if (kind === 'points') return interval(values.find((v) => Math.abs(v.at - at) <= near), scale);
  const text = (ys) => ys.map((y) => shown(y, scale)).join(' to ');
  const exact = values.find((v) => v[0] !== null && Math.abs(v[0] - at) <= near);
  if (exact) return { text: text(exact.slice(1)), ys: exact.slice(1) };
  const i = values.findIndex((v, k) => k && (v[0] - at) * (values[k - 1][0] - at) < 0);
  if (i < 1 || [...values[i], ...values[i - 1]].includes(null)) return UNKNOWN;
  const [p, q] = [values[i - 1], values[i]];
  const ys = p.slice(1).map((y, k) => y + (q[k + 1] - y) * (at - p[0]) / (q[0] - p[0]));
  return { text: '≈ ' + text(ys), ys };
}

function interval(found, scale) {
  if (!found) return UNKNOWN;
  const [low, value, high] = [found.low, found.value, found.high].map((v) => shown(v, scale));
  const range = `${low} to ${high}`;
  const bare = low === high || found.low === null;
  const text = found.value === null ? range : bare ? value : `${value} (${range})`;
  return { text, ys: [found.value] };
}
