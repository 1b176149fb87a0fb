// What the program has said of the present start: its certificate, that of what is set, and the noise.

export const answers = { start: null, now: null, noise: null };

export function forget() {
  Object.assign(answers, { start: null, now: null, noise: null });
}
