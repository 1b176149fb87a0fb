// What the program has said of the present start and of what is set.

export const answers = {
  /** The certificate of what is set, and the noise of its queries. */
  now: null,
  spending: null,
  /** The certificate of the start: as found while a hand moves, and at rest. */
  fastStart: null,
  start: null,
};

export function forget() {
  for (const name in answers) answers[name] = null;
}

/** The certificate of the start that was found as `now` was: in fast mode both may be a little wider. */
export const startFor = (isFast) => (isFast ? answers.fastStart : answers.start || answers.fastStart);
