// Where an allocation comes from: a preset, or a file that is chosen or dropped.
import { loaded } from './api.js';
import { asked } from './ask.js';
import { byId, chosen, el, listen, radios } from './dom.js';
import { isDraft } from './draft.js';
import { limits } from './limits.js';
import { notice, showTrouble } from './notices.js';
import { fileOf } from './questions.js';
import { load, state } from './store.js';
import { Trouble, sentence } from './trouble.js';

let choices = 0;

/** Of what is chosen in quick succession the last counts: whether this choice still is. */
export function choice() {
  const mine = ++choices;
  return () => mine === choices;
}

// ---- Presets

/** Lists those that can be edited: some are known by a budget alone, and have no levels. */
export async function listPresets() {
  const list = (await asked('/api/presets')).filter(({ levels }) => levels > 0);
  const option = ({ preset, name, levels, measurements }) =>
    el('option', { value: preset, title: `${levels} levels, ${measurements} measurements` }, name);
  byId('preset').replaceChildren(...list.map(option), el('option', { value: '', hidden: true }));
  listen(byId('preset'), 'change', () => choosePreset(byId('preset').value).catch((found) => {
    notice(sentence(found));
    showOrigin();
  }));
}

export const presetDraft = (name) =>
  loaded(`/api/presets/${encodeURIComponent(name)}`).then(({ draft }) => draft);

export async function choosePreset(name) {
  const isLast = choice();
  try {
    const draft = await presetDraft(name);
    if (isLast()) load(draft, `preset:${name}`);
  } catch (found) {
    if (isLast()) throw found;
  }
}

/** Shows in the list of presets which it is, or where else the allocation comes from. */
export function showOrigin() {
  const select = byId('preset');
  const [kind, ...rest] = state.origin.split(':');
  const name = rest.join(':');
  const isPreset = kind === 'preset';
  select.value = isPreset ? name : '';
  select.querySelector('option[value=""]').textContent = isPreset ? '' : `from ${name || 'a link'}`;
  if (select.selectedIndex < 0) select.value = '';
}

// ---- Files

let waiting = null; // a table whose neighbours are not known yet

async function take(file) {
  const box = byId('file-trouble');
  byId('file-neighbours').hidden = true;
  waiting = null;
  showTrouble(box, null);
  const isLast = choice();
  if (file.size > limits.bytes) {
    const message = `the file is larger than ${Math.floor(limits.bytes / 1024)} KiB`;
    const hint = 'an allocation is a small text file: is it the right one?';
    showTrouble(box, { message, hint }, file.name);
    return;
  }
  const text = await file.text();
  if (!isLast()) return;
  if (/\.csv$/i.test(file.name)) askNeighbours(file.name, text);
  else read(file.name, text, null);
}

/** A table of budgets cannot say what its neighbours are. */
function askNeighbours(name, text) {
  waiting = { name, text };
  byId('file-name').textContent = name;
  byId('file-neighbours').hidden = false;
  for (const radio of radios('file-neighbours')) radio.checked = false;
  byId('file-read').disabled = true;
  radios('file-neighbours')[0].focus();
}

async function read(name, text, neighbours) {
  const isLast = choice();
  try {
    const { draft } = await loaded('/api/read', fileOf(name, text, neighbours));
    if (!isLast()) return;
    if (!isDraft(draft, limits)) {
      const hint = `it shows at most ${limits.levels} levels, ${limits.shares} shares, ` +
        `and ${limits.digits} characters of a number; the command line takes more`;
      throw new Trouble({ message: 'the allocation is too large for this page', hint });
    }
    byId('file-neighbours').hidden = true;
    waiting = null;
    load(draft, `file:${name}`);
  } catch (found) {
    if (isLast()) showTrouble(byId('file-trouble'), found, name);
  }
}

export function listenForFiles() {
  const zone = byId('drop');
  const input = byId('file');
  const hasFiles = (event) => [...event.dataTransfer.types].includes('Files');
  listen(input, 'change', () => {
    if (input.files[0]) take(input.files[0]);
    input.value = ''; // the same file may be chosen again, once it is mended
  });
  // A file that misses the zone must not replace the page.
  listen(window, 'dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    zone.classList.add('over');
  });
  listen(window, 'dragleave', (event) => { if (!event.relatedTarget) zone.classList.remove('over'); });
  listen(window, 'drop', (event) => {
    zone.classList.remove('over');
    if (!hasFiles(event)) return;
    event.preventDefault();
    zone.scrollIntoView({ block: 'nearest' });
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  for (const radio of radios('file-neighbours')) {
    listen(radio, 'change', () => { byId('file-read').disabled = false; });
  }
  listen(byId('file-read'), 'click', () => read(waiting.name, waiting.text, chosen('file-neighbours')));
}
