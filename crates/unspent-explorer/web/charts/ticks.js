// Where an axis is marked, and how the marks are called. On a log axis all values are logarithms.
import { clamp, finite, superscript } from './numbers.js';

const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** The least of 1, 2, 5 times a power of ten that is at least `gap`. */
export function stepOf(gap) {
  const exponent = Math.floor(Math.log10(gap) + 1e-9);
  const digit = [1, 2, 5, 10].find((d) => d * 10 ** exponent >= gap * (1 - 1e-9)) || 10;
  return digit === 10 ? { digit: 1, exponent: exponent + 1 } : { digit, exponent };
}

const sizeOf = ({ digit, exponent }) => +`${digit}e${exponent}`;

/** The step between minor ticks: halves of 2, fifths of 1 and 5. */
const minorOf = ({ digit, exponent }) =>
  digit === 1 ? { digit: 2, exponent: exponent - 1 } : { digit: 1, exponent };

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

/** Multiples of the minor step that are not major ticks. */
function minorTicks(step, majors, low, high) {
  const isMinor = (at) => majors.every((major) => Math.abs(major.at - at) > 0.01 * sizeOf(step));
  return multiples(minorOf(step), low, high).filter(isMinor);
}

/** Labelled and small ticks, at most about `most` labelled. */
export function ticks(log, low, high, most) {
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
    if (at === 0) return '0';
    const text = Math.abs(at / 10 ** common).toFixed(places);
    return (at < 0 ? '−' : '') + text + (common ? '×10' + superscript(common) : '');
  };
  const major = multiples(step, low, high).map((at) => ({ at, label: name(at) }));
  return { major, minor: minorTicks(step, major, low, high) };
}

/** digit·10^k. */
const multipleName = (digit, k) =>
  k === 0 ? String(digit) : (digit === 1 ? '10' : digit + '×10') + superscript(k);

function logTicks(low, high, most) {
  const step = coarsest(stepOf(Math.max(1, (high - low) / (most + 1))), low, high, most);
  if (sizeOf(step) > 1) {
    const major = multiples(step, low, high).map((at) => ({ at, label: multipleName(1, at) }));
    return { major, minor: minorTicks(step, major, low, high) };
  }
  const marks = (digits) => {
    const all = [];
    for (let k = Math.floor(low); k <= high; k++) {
      for (const d of digits) all.push({ at: k + Math.log10(d), label: multipleName(d, k) });
    }
    return all.filter(({ at }) => at >= low - 1e-9 && at <= high + 1e-9);
  };
  const every = marks(DIGITS);
  const enough = (list) => list.length >= 2 && list.length <= most;
  const major = [marks([1]), marks([1, 2, 5]), every].find(enough);
  if (!major) return withinDecade(low, high, most);
  const isMinor = (at) => !major.some((tick) => tick.at === at);
  return { major, minor: every.map((tick) => tick.at).filter(isMinor) };
}

/** Far into a decade: the values themselves, in units of its power. */
function withinDecade(low, high, most) {
  const k = Math.floor(low);
  const inner = linearTicks(10 ** (low - k), 10 ** (high - k), most);
  const lift = (at) => k + Math.log10(at);
  const name = (label) => (k ? `${label}×10${superscript(k)}` : label);
  return {
    major: inner.major.map(({ at, label }) => ({ at: lift(at), label: name(label) })),
    minor: inner.minor.map(lift),
  };
}

/** All finite values, rounded outward to minor ticks. */
export function extent(values, log) {
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
