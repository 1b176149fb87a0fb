// Files to take along.
import { ask } from './ask.js';
import { byId, el } from './dom.js';
import { signed } from './draft.js';
import { showTrouble } from './notices.js';
import { state } from './store.js';

export const FORMATS = ['toml', 'csv', 'svg'];

/** The name of a file, of the letters that every system takes. */
export function fileName(origin, name, isChanged, suffix) {
  const isPreset = origin.startsWith('preset:');
  const stem = isPreset ? `${origin.slice('preset:'.length)}${isChanged ? '-changed' : ''}` : name;
  const plain = stem.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60);
  return `${plain || 'allocation'}${suffix}`;
}

export async function takeAlong(format) {
  const { start, now, part, origin } = state;
  const draft = signed(now, start);
  const figure = byId('export-figure').value;
  showTrouble(byId('export-trouble'), null);
  try {
    const response = await ask('/api/export', { format, draft, figure, part, start });
    const link = el('a', { href: URL.createObjectURL(await response.blob()) });
    const suffix = { toml: '.toml', csv: '-certificate.csv', svg: `-${figure}.svg` }[format];
    link.download = fileName(origin, draft.name, draft !== start, suffix);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (found) {
    showTrouble(byId('export-trouble'), found);
  }
}
