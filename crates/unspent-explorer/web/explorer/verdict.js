// Whether what an allocation states is kept, in the words of the certificate.
import { b, bdi, byId, el } from './dom.js';

/** A verdict that is not a good one stands out: what is before its first colon. */
function verdictNodes(words, kept) {
  const at = words.indexOf(':');
  return kept || at < 0 ? [bdi(words)] : [b(words.slice(0, at)), bdi(words.slice(at))];
}

/** Shows each promise, and warns of a file that would state what is not certified to be kept. */
export function showVerdict({ report, words }) {
  const { promises } = report;
  const node = byId('verdict');
  const isBroken = promises.some((promise) => promise.kept === false);
  node.hidden = !promises.length;
  node.dataset.kept = report.kept ? 'true' : isBroken ? 'false' : 'unknown';
  node.replaceChildren(...promises.map(({ kept }, i) => el('span', {}, ...verdictNodes(words[i], kept))));
  const unsure = promises.flatMap(({ kept }, i) => (kept ? [] : [words[i]]));
  byId('export-warning').hidden = !unsure.length;
  byId('export-warning').replaceChildren('The exported allocation will state what is certified instead. ',
    ...unsure.map((text) => bdi(text)));
}
