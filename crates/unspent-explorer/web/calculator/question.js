// What the calculator asks, and how answers are said.
import { number, shown } from '../explorer/exact.js';

const many = 'how many answers one record changes';

/** By kind: what its noise is called, which parameter that is, what is counted, whether q is asked for. */
export const KINDS = {
  discrete_gaussian: { noise: 'σ, its standard deviation (parameter)', parameter: 'sigma', count: many },
  gaussian: { noise: 'σ, its standard deviation', parameter: 'sigma', count: many },
  laplace: { noise: 'b, its scale', parameter: 'scale', count: many },
  subsampled_gaussian: {
    noise: 'noise multiplier: σ, where a record moves a sum by 1', parameter: 'sigma', count: 'steps',
    isSampled: true,
  },
};

/** The fields that count, of a kind and what is looked for. */
export function fieldsFor(kind, sought) {
  const all = ['noise', 'count', 'q', 'shift', 'epsilon', 'delta'];
  const without = { epsilon: ['epsilon'], delta: ['delta'], noise: ['noise'] }[sought];
  const { isSampled } = KINDS[kind];
  return all.filter((name) => !without.includes(name) && (name !== (isSampled ? 'shift' : 'q')));
}

/** Address and question, of the texts of fields. */
export function questionOf(kind, sought, texts) {
  const { parameter, isSampled } = KINDS[kind];
  const noise = sought === 'noise' ? '?' : texts.noise;
  const rest = isSampled ? { q: texts.q } : { shift: texts.shift };
  const mechanisms = [{ kind, [parameter]: noise, count: texts.count, ...rest }];
  if (sought === 'noise') {
    return ['/api/parameter', { mechanisms, epsilon: texts.epsilon, delta: texts.delta }];
  }
  const given = sought === 'epsilon' ? { deltas: [texts.delta] } : { epsilons: [texts.epsilon] };
  return ['/api/account', { mechanisms, ...given }];
}

const FIELD_OF = { sigma: 'noise', scale: 'noise' };

/** What is refused, in a person's words, and the field that is at fault, if it is one. */
export function refusalOf({ message, hint }) {
  const unread = /^the question cannot be read: (.*) at line \d+ column \d+$/.exec(message);
  const text = unread ? unread[1] : message;
  const found = /(?:^|: )(sigma|scale|count|q|shift|epsilon|delta): (`.*)$/.exec(text);
  // How a question is written is of no use to whoever did not write it.
  const advice = hint && !unread ? ` (${hint})` : '';
  return found ? { field: FIELD_OF[found[1]] ?? found[1], text: `${found[2]}${advice}` }
    : { field: null, text: `${text}${advice}` };
}

const METHODS = { 'one-sided': 'Only an upper bound is known: nothing is said from below.' };

/** The answer in a line, and what is to be known about it. */
export function sayingOf(kind, sought, texts, report) {
  const { parameter } = KINDS[kind];
  const notes = [];
  let line;
  if (sought === 'noise') {
    const symbol = parameter === 'sigma' ? 'σ' : 'b';
    line = `${symbol} = ${report.value}`;
    notes.push(`With it δ ≤ ${small(upperOf(report.delta), true)} at ε = ${texts.epsilon} is certified.`);
    if (report.next?.fails) {
      const { value } = report.next;
      notes.push(`With ${symbol} = ${value} δ is larger than ${texts.delta}, which is certified, too.`);
    } else if (!report.next) notes.push('It is the smallest value that is looked at.');
    if (report.order === 'monotone') notes.push('Every larger value keeps it, too (proved).');
    else notes.push('That every larger value keeps it is not proved: this one does.');
  } else {
    const [point] = report.points;
    const isEpsilon = sought === 'epsilon';
    const [symbol, given] = isEpsilon ? ['ε', `δ = ${texts.delta}`] : ['δ', `ε = ${texts.epsilon}`];
    const found = point[sought];
    const say = isEpsilon ? (text, up) => shown(text, up) : small;
    const upper = upperOf(found);
    line = `${symbol} ≤ ${say(upper, true)} at ${given}`;
    notes.push(`More exactly between ${found.lower ?? found} and ${upper}; the upper end is the guarantee.`);
    if (point.zcdp) {
      notes.push(`By the usual conversion from zCDP: ε ≤ ${shown(point.zcdp.canonne_kamath_steinke, true)}.`);
    }
  }
  if (report.direction) notes.push('For a record that comes or goes: the larger of the two directions.');
  if (METHODS[report.method]) notes.push(METHODS[report.method]);
  return { line, notes };
}

/** The guarantee of what has two ends, or is exact. */
const upperOf = (found) => found.upper ?? found;

/** A probability in four digits, rounded up or down; what is too small for that as it is. */
function small(text, up) {
  const [, exponent = '0'] = text.split('e');
  return Math.abs(+exponent) > 9999 ? text : number(text).short(4, up);
}
