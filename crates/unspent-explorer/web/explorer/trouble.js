// What is wrong, as the program says it: a message, a hint, and perhaps the field or the line at fault.

export class Trouble extends Error {
  constructor(answer) {
    super(answer.message);
    Object.assign(this, answer);
  }
}

/** In one sentence, to stand beside the field at fault. */
export function sentence({ field, message, hint }) {
  let text = message;
  if (field && text.startsWith(field)) text = text.slice(field.length).replace(/^: /, '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${hint ? ` (${hint})` : ''}`;
}
