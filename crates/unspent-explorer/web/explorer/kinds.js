// The mechanisms that a draft may have beside its levels: kinds, and what each is described by.

/** A parameter: its name in files, its name on the page, and what a new mechanism has. */
const SIGMA = ['sigma', 'σ', '10'];
const SCALE = ['scale', 'Scale b', '10'];
const SHIFT = ['shift', 'Shift', '1'];
const EPSILON = ['epsilon', 'ε', '0.1'];
const RATE = ['q', 'Rate q', '1/100'];
const NOISE = [SIGMA, SHIFT];
const LAPLACE = [SCALE, SHIFT];

const KINDS = [
  ['discrete_gaussian', 'Discrete Gaussian noise', NOISE],
  ['gaussian', 'Gaussian noise', NOISE],
  ['laplace', 'Laplace noise', LAPLACE],
  ['discrete_laplace', 'Discrete Laplace (geometric) noise', LAPLACE],
  ['randomised_response', 'Randomised response', [['k', 'Answers', '2'], EPSILON]],
  ['pure_dp', 'Any ε-DP mechanism', [EPSILON]],
  ['approximate_dp', 'Any (ε, δ)-DP mechanism', [EPSILON, ['delta', 'δ', '1e-12']]],
  ['zcdp', 'Any ρ-zCDP mechanism', [['rho', 'ρ', '0.01']]],
  ['gdp', 'Any μ-GDP mechanism', [['mu', 'μ', '0.1']]],
  ['subsampled_gaussian', 'DP-SGD: sampled Gaussian', [SIGMA, RATE, SHIFT]],
  ['subsampled_discrete_gaussian', 'Sampled discrete Gaussian', [SIGMA, RATE, SHIFT]],
  ['subsampled_discrete_laplace', 'Sampled discrete Laplace', [SCALE, RATE, SHIFT]],
  ['truncated_discrete_gaussian', 'Truncated discrete Gaussian',
    [SIGMA, ['bound', 'Bound', '100'], SHIFT]],
  ['finite', 'A table of masses', [['p', 'Masses without the record', '1/2; 1/2'],
    ['q', 'Masses with it', '11/20; 9/20']]],
].map(([kind, title, parameters]) => ({ kind, title, parameters }));

/** Other names of the same width, which files may have. */
const LABELS = {
  sigma2: 'σ²', truth: 'Probability of the truth', b: 'Scale b', count: 'How many', rho: 'ρ', mu: 'μ',
};

/** As files may write a kind: hyphens may stand for underscores, and geometric noise has two names. */
export function kindNamed(text) {
  const kind = text.trim().replaceAll('-', '_').toLowerCase();
  return kind === 'geometric' ? 'discrete_laplace' : kind;
}

/** Those that can be chosen: a sample is accounted for if a record is added or removed. */
export const kindsFor = (neighbours) =>
  KINDS.filter(({ kind }) => neighbours === 'add-remove' || !kind.startsWith('subsampled_'));

export const NOTE = 'added in the explorer: one record is in each of them';

/** A mechanism of a kind, with what another one has in common with it. */
export function ofKind(kind, before = {}) {
  const { parameters } = KINDS.find((known) => known.kind === kind);
  const widths = new Map([['sigma', 'sigma2'], ['scale', 'b']]);
  const kept = parameters.flatMap(([name, , value]) => {
    const other = widths.get(name);
    if (before[name] === undefined && before[other] !== undefined) return [[other, before[other]]];
    return [[name, before[name] ?? value]];
  });
  const { note = NOTE } = before;
  // Nobody trains in one step.
  const usual = kind.startsWith('subsampled_') ? '1000' : '1';
  const count = (before.count ?? '1') === '1' ? usual : before.count;
  return { kind, ...Object.fromEntries(kept), count, note };
}

/** What a mechanism of a draft is called: of a kind that is not in the list, as it is written. */
export const titleOf = ({ kind }) =>
  KINDS.find((known) => known.kind === kindNamed(kind))?.title ?? kind.replaceAll('_', ' ');

/** Its parameters as the page shows them, [name, label], in the order of the list; its count is the last. */
export function fieldsOf(also) {
  const known = KINDS.find(({ kind }) => kind === kindNamed(also.kind))?.parameters ?? [];
  const names = Object.keys(also).filter((name) => !['kind', 'note', 'count'].includes(name));
  const place = (name) => {
    const at = known.findIndex(([own]) => own === name || own === { sigma2: 'sigma', b: 'scale' }[name]);
    return at < 0 ? known.length : at;
  };
  const label = (name) => known.find(([own]) => own === name)?.[1] ?? LABELS[name] ?? name;
  const ordered = names.toSorted((a, c) => place(a) - place(c));
  return [...ordered, 'count'].map((name) => [name, label(name)]);
}

/** Which of its fields an objection of the program is about, if it is about one. */
export function fieldAtFault(also, field) {
  const name = field.split(/: |\./).at(-1);
  return [name, ...(name === 'scale' ? ['b'] : [])].find((known) => known in also) ?? null;
}
