// What the best attack reaches, in the words of the report.
import { bdi, byId, el } from './dom.js';

export function showReading({ intro, attacks, words, note }) {
  const item = ({ alpha }, i) => el('li', { 'data-alpha': alpha }, bdi(words[i]));
  const list = el('ul', {}, ...attacks.map(item));
  byId('reading').replaceChildren(el('p', {}, bdi(intro)), list, el('p.small', {}, bdi(note)));
}
