// How much a file or a link may hold.

/** Bytes (the program takes a little more in one question), levels, shares, and characters of a number. */
export const limits = { bytes: 9e5, levels: 1000, shares: 5000, digits: 1000 };
