// What the best attack reaches, in the words of the program.
import { bdi, byId, el } from './dom.js';

export function showReading({ intro, attacks, words, note }) {
  const items = attacks.map(({ alpha }, i) => el('li', { 'data-alpha': alpha }, bdi(words[i])));
  byId('reading').replaceChildren(
    el('p', {}, bdi(intro)),
    el('ul', {}, ...items),
    el('p.small', {}, note),
  );
}
