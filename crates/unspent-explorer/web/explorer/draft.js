// Drafts: allocations as texts, to be edited. They are never changed, only replaced.
import { ONE, Rational, number } from './exact.js';

/** Digits of a denominator, beyond which a sum is not worked out exactly. */
export const MOST_DIGITS = 2000;

const steps = (path) => path.match(/[^.[\]]+/g);

/** What stands at a path, like levels[2].share. */
export const get = (draft, path) => steps(path).reduce((node, key) => node?.[key], draft);

/** The same draft with something else at a path. */
export function set(draft, path, value) {
  const next = structuredClone(draft);
  const keys = steps(path);
  keys.slice(0, -1).reduce((node, key) => node[key], next)[keys.at(-1)] = value;
  return next;
}

export const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/** The names of levels and queries, which no control changes. */
export const outline = (draft) =>
  draft.levels.map((level) => [level.name, level.shares.map((part) => part.query)]);

/** All of a draft that no control changes. */
export function frame(draft) {
  const turned = { rho: null, delta: null, neighbours: null, epsilon: null, conversion: null };
  const { also: _, ...rest } = draft;
  return { ...rest, ...turned, levels: outline(draft) };
}

/** Whether a number is short enough to be sent. */
export const fits = (text, limits) => text.length <= limits.digits && !/e[+-]?\d{4}/i.test(text);

/** Whether it has the shape of a draft, and not too much of it. What it says is for the program to judge. */
export function isDraft(draft, limits) {
  const isNumber = (text) => {
    try {
      return typeof text === 'string' && fits(text, limits) && Boolean(number(text));
    } catch {
      return false;
    }
  };
  const isNumberOrNone = (value) => value === null || value === undefined || isNumber(value);
  const isPart = (part) => typeof part?.query === 'string' && isNumber(part.share) &&
    (part.laplace === undefined || isNumber(part.laplace?.scale));
  const isAlso = (one) => typeof one?.kind === 'string' && typeof one.note === 'string' &&
    Object.values(one).every((text) => typeof text === 'string');
  const isLevel = (level) => typeof level?.name === 'string' && isNumber(level.share) &&
    Array.isArray(level.shares) && level.shares.length > 0 && level.shares.every(isPart);
  const areFew = (levels) => Array.isArray(levels) && levels.length > 0 && levels.length <= limits.levels &&
    levels.reduce((sum, level) => sum + (level?.shares?.length || 0), 0) <= limits.shares;
  return Boolean(draft) && typeof draft.name === 'string' &&
    // Without what is known of its production a draft would promise too much.
    Boolean(draft.production) && typeof draft.production === 'object' &&
    (draft.also === undefined || Array.isArray(draft.also) && draft.also.every(isAlso)) &&
    isNumber(draft.rho) && isNumberOrNone(draft.delta) && isNumberOrNone(draft.epsilon) &&
    areFew(draft.levels) && draft.levels.every(isLevel);
}

/** Whether a query is asked at a level: it has a share of a budget, or noise of its own. */
export const isAsked = (level, part) => Boolean(part.laplace) ||
  number(level.share).n > 0n && number(part.share).n > 0n;

/** Whether a level is released: one at which nothing is asked is not. */
export const isReleased = (level) => level.shares.some((part) => isAsked(level, part));

/** The queries that have shares, and those that have Laplace noise. */
export const hasShares = (level) => level.shares.some((part) => !part.laplace);
export const hasLaplace = (draft) => draft.levels.some(({ shares }) => shares.some((part) => part.laplace));

/** Exactly, or null where that would take too long. */
export function sumOf(texts) {
  const most = 10n ** BigInt(MOST_DIGITS);
  let sum = new Rational(0n);
  for (const text of texts) {
    sum = sum.plus(number(text));
    if (sum.d > most) return null;
  }
  return sum;
}

/** A sum in words: exactly where it is short. */
export function sumText(sum, texts) {
  if (!sum) return `≈ ${texts.reduce((a, text) => a + number(text).toNumber(), 0).toPrecision(8)}`;
  const exact = String(sum);
  if (sum.d === 1n) return exact;
  return exact.length <= 9 ? `${exact} ≈ ${sum.short(6, false)}` : `≈ ${sum.short(8, false)}`;
}

/** The shares of the levels; or, with the number of a level, of the queries within it. */
export function sharesOf(draft, level = null) {
  const parts = level === null ? draft.levels : draft.levels[level].shares;
  return parts.map((part) => part.share);
}

/**
 * The draft with these shares divided by their sum, exactly. Null if there is no such draft: a sum of zero,
 * or shares that would be too long to be sent.
 */
export function renormalised(draft, level, limits) {
  const sum = sumOf(sharesOf(draft, level));
  if (!sum || sum.n === 0n) return null;
  const next = structuredClone(draft);
  for (const part of level === null ? next.levels : next.levels[level].shares) {
    part.share = String(number(part.share).over(sum));
    if (!fits(part.share, limits)) return null;
  }
  return next;
}

/**
 * The draft with the budgets of another one, in the places that it has: what the other one does not measure
 * gets none. Null if the other one measures something that has no place.
 */
export function withBudgetsOf(draft, other) {
  const levels = draft.levels.map((level) => {
    const found = other.levels.find(({ name }) => name === level.name);
    const shareOf = ({ query }) => found.shares.find((part) => part.query === query)?.share ?? '0';
    // What is designed is Gaussian noise.
    const shares = level.shares.map((part) => ({
      query: part.query, share: found ? shareOf(part) : part.share,
    }));
    return { ...level, share: found?.share ?? '0', shares };
  });
  const places = outline(draft);
  const isPlaced = (level) => (part) => !isAsked(level, part) ||
    places.some(([name, queries]) => name === level.name && queries.includes(part.query));
  if (!other.levels.every((level) => level.shares.every(isPlaced(level)))) return null;
  const { rho, delta, neighbours, epsilon, conversion } = other;
  return { ...draft, rho, delta, neighbours, epsilon, conversion, levels };
}

export const isOne = (sum) => sum !== null && sum.compare(ONE) === 0;

/** The draft under a name of its own, where it is not the start any more. */
export function signed(now, start) {
  if (now === start) return now;
  const name = now.name.endsWith(' (changed)') ? now.name : `${now.name} (changed)`;
  const isSigned = !now.source || now.source.startsWith('changed from: ');
  return { ...now, name, source: isSigned ? now.source : `changed from: ${now.source}` };
}
