// Where the page says what is wrong, or what it has done.
import { b, byId, el } from './dom.js';

/** Shows what is wrong, with the place in a file if it has one; or, with null, nothing. */
export function showTrouble(node, found, file) {
  node.hidden = !found;
  node.replaceChildren();
  if (!found) return;
  const place = found.line ? `${file || 'line'}:${found.line}:${found.column}` : file;
  let { message } = found;
  if (place && message.startsWith(place)) message = message.slice(place.length).replace(/^: /, '');
  node.append(el('p', {}, place ? b(place) : null, place ? ': ' : '', message));
  if (found.excerpt) node.append(excerpt(found.excerpt));
  if (found.hint) node.append(el('p.small', {}, `Hint: ${found.hint}`));
}

/** The line as it stands, and the marks below it, underlined. */
function excerpt(text) {
  const pre = el('pre', { tabindex: 0, role: 'region', 'aria-label': 'The line in question' });
  for (const piece of text.replace(/\n+$/, '').split(/(\^+)/)) {
    pre.append(piece[0] === '^' ? el('u', {}, piece) : piece);
  }
  return pre;
}

const SAID = 8000; // ms for which a notice stays
const LOOK = 1000;

let fading;
/** Says something for some seconds, which begin once there is nothing to wait for. */
export function notice(text) {
  byId('notice').textContent = text;
  clearInterval(fading);
  let left = SAID;
  fading = setInterval(() => {
    left = byId('results').dataset.state === 'waiting' ? SAID : left - LOOK;
    if (left > 0) return;
    byId('notice').textContent = '';
    clearInterval(fading);
  }, LOOK);
}
