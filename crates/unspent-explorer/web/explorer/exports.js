// Files to take along.
import { ask, asked } from './ask.js';
import { byId, el } from './dom.js';
import { signed } from './draft.js';
import { number } from './exact.js';
import { showTrouble } from './notices.js';
import { certificateOf } from './questions.js';
import { state } from './store.js';

export const FORMATS = ['toml', 'csv', 'svg'];

/** The name of a file, of the letters that every system takes. */
export function fileName(origin, name, isChanged, suffix) {
  const isPreset = origin.startsWith('preset:');
  const stem = isPreset ? `${origin.slice('preset:'.length)}${isChanged ? '-changed' : ''}` : name;
  const plain = stem.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60);
  return `${plain || 'allocation'}${suffix}`;
}

/** What states an ε that is not certified to be kept states the one that is. */
async function keeping(draft) {
  if (!draft.epsilon) return draft;
  const { report } = await asked('/api/certificate', certificateOf(draft, false));
  return report.kept ? draft : { ...draft, epsilon: number(report.lines[0].tight.upper).short(8, true) };
}

export async function takeAlong(format) {
  const { start, now, part, origin } = state;
  const figure = byId('export-figure').value;
  showTrouble(byId('export-trouble'), null);
  try {
    const draft = await keeping(signed(now, start));
    const response = await ask('/api/export', { format, draft, figure, part, start });
    const link = el('a', { href: URL.createObjectURL(await response.blob()) });
    const suffix = { toml: '.toml', csv: '-certificate.csv', svg: `-${figure}.svg` }[format];
    link.download = fileName(origin, draft.name, now !== start, suffix);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (found) {
    showTrouble(byId('export-trouble'), found);
  }
}
