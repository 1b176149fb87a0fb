// By how much one number differs from another, in words that claim no more than is so.
import { Rational, number, shown } from './exact.js';

const MENTIONED = new Rational(99999n, 100000n);

const decimals = (text) => (/\.(\d+)/.exec(text)?.[1].length ?? 0) - (/e(.*)/.exec(text)?.[1] ?? 0);

/**
 * From `before` to `now`, with the decimals of what is shown: never a greater improvement or a smaller loss
 * than it is. Null if nothing is to be seen of it, or there is nothing before.
 */
export function change(now, before) {
  if (!before) return null;
  const by = number(now).minus(number(before));
  if (by.n === 0n) return null;
  const isWeaker = by.n > 0n;
  const places = Math.max(decimals(shown(now, true)), decimals(shown(before, true)));
  const size = isWeaker ? by : new Rational(-by.n, by.d);
  const text = places > 8 ? size.short(3, isWeaker) : size.fixed(places, isWeaker);
  if (!/[1-9]/.test(text)) return null;
  return { text: `${isWeaker ? '+' : '−'}${text}`, isWeaker };
}

/** Whether a factor of the variance is a reduction worth mentioning: by a thousandth of a percent or more. */
export const isReduction = (factor) => number(factor).compare(MENTIONED) <= 0;
