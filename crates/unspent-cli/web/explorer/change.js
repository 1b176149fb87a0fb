// By how much one number differs from another, in words that claim no more than is so.
import { ONE, Rational, number, shown } from './exact.js';

const decimals = (text) => (/\.(\d+)/.exec(text)?.[1].length ?? 0) - (/e(.*)/.exec(text)?.[1] ?? 0);

/**
 * From `before` to `now`, with the decimals of what is shown: never a greater improvement or a smaller loss
 * than it is. Null if nothing is to be seen of it, or there is nothing before.
 */
export function change(now, before) {
  if (before === undefined) return null;
  const by = number(now).minus(number(before));
  if (by.n === 0n) return null;
  const isWeaker = by.n > 0n;
  const places = Math.max(decimals(shown(now, true)), decimals(shown(before, true)));
  const size = isWeaker ? by : new Rational(-by.n, by.d);
  const text = places > 8 ? size.short(3, isWeaker) : size.fixed(places, isWeaker);
  if (!/[1-9]/.test(text)) return null;
  return { text: `${isWeaker ? '+' : '−'}${text}`, isWeaker };
}

/** What a factor does to a variance, in percent; a reduction is rounded down, what is added up. */
export function percentOf(factor) {
  const cut = ONE.minus(number(factor)).times(new Rational(100n));
  if (cut.n === 0n) return '0\u00a0%';
  if (cut.n > 0n) return `−${cut.fixed(3, false)}\u00a0%`;
  return `+${new Rational(-cut.n, cut.d).fixed(3, true)}\u00a0%`;
}

export const isIncrease = (factor) => number(factor).compare(ONE) > 0;
