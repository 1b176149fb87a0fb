// Questions about drafts, in the shapes that the program reads.

export const certificateOf = (draft, reductions) => ({ release: [{ draft }], reductions });
export const readingOf = (draft, part, prior) => ({ release: [{ draft }], part, prior });
export const spendingOf = (draft) => ({ allocation: { draft } });
export const accuracyOf = (draft, units) => ({ allocation: { draft }, ...units });
export const designOf = (draft, needs, prices) => ({ needs, allocation: { draft }, prices });
export const calibrationOf = (draft, epsilon, scaling) => ({ allocation: { draft }, epsilon, scaling });
export const fileOf = (name, text, neighbours) => ({ allocation: { file: { name, text, neighbours } } });

/** The draft that a question about a release is about. */
export const draftIn = (question) => question?.release[0].draft;

/** Whether it may take long: then nobody waits for its answer once something else is asked. */
export const isLong = ({ reductions }) => reductions === true;
