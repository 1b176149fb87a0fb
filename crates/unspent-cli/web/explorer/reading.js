// What the best attack reaches, in plain words.
import { b, bdi, byId, el } from './dom.js';
import { Rational, exactly, number, oneIn, percent } from './exact.js';
import { isLevel } from './scope.js';

const QUARTER = new Rational(1n, 4n);
const HUNDRED = new Rational(100n);

/** What is secret in a part that is not the whole record, of which one attack wants to know the value. */
const SECRETS = {
  keeping: (name, record) => ['which of two given records, counted in the same ', name, ', one ', record,
    ' really has'],
  attribute: (name, record) => ['which of two values of “', name, '” one ', record, ' has'],
  within: (name, record) => ['in which of two places inside one ', name, ' one ', record, ' is counted'],
};

function secretOf(part, record, neighbours) {
  if (SECRETS[part.scope]) return SECRETS[part.scope](bdi(part.name), bdi(record));
  if (neighbours === 'bounded') return ['which of two given records one ', bdi(record), ' really has'];
  return ['whether one ', bdi(record), ' is in the data at all'];
}

function suspicionOf(part, record, neighbours) {
  if (!SECRETS[part.scope] && neighbours === 'add-remove') return ['the ', bdi(record), ' is there'];
  return ['it is the second of the two'];
}

const rate = (alpha) => `${exactly(number(alpha).times(HUNDRED))}\u00a0%`;

function attackItem({ alpha, power, posterior }, prior) {
  const isRare = number(posterior.upper).compare(QUARTER) < 0;
  return el('li', { 'data-alpha': alpha },
    `An attack that raises a false alarm in ${rate(alpha)} of cases finds the truth in at most `,
    b(percent(power.upper, true)), `, and some attack really reaches ${percent(power.lower, false)}. `,
    `(Guessing reaches ${rate(alpha)}.) What was thought ${oneIn(prior, true)} likely before is, after its `,
    'alarm, at most ', b(percent(posterior.upper, true)), ' likely',
    isRare ? ` (${oneIn(posterior.upper, true)})` : '',
    `, and with the best attack really ${percent(posterior.lower, false)}.`);
}

export function showReading({ record, neighbours, attacks }, part, prior) {
  const atLevel = ['what is released at the level ', bdi(part.name), ', and nothing else'];
  const sees = isLevel(part) ? atLevel : ['everything that is released'];
  const secret = secretOf(part, record, neighbours);
  const others = ', and says nothing of what the rest of the data tell about everybody';
  const rest = neighbours === 'bounded' ? others : '';
  byId('reading').replaceChildren(
    el('p', {}, 'Someone knows everything about the data but one thing: ', ...secret, '. They see ', ...sees,
      ', and say “alarm” when they come to believe that ', ...suspicionOf(part, record, neighbours), '.'),
    el('ul', {}, ...attacks.map((attack) => attackItem(attack, prior))),
    el('p.small', {}, 'An attack that raises fewer false alarms finds less, but its alarms weigh more. ' +
      `All this holds for neighbours that agree on what is published without noise${rest}.`));
}
