// The page as a person uses it, and the command line to hold it against.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { browser } from '../checks.mjs';

const { URL: address, API: api = address, UNSPENT, EXAMPLES, OUT } = process.env;
if (!address || !UNSPENT || !EXAMPLES || !OUT) {
  console.error('usage: URL=… UNSPENT=… EXAMPLES=… OUT=… node explorer.mjs');
  process.exit(2);
}
export { EXAMPLES, OUT, UNSPENT, address };
const { origin, protocol } = new URL(address);
/** From a disk the page asks nobody: not even itself for a second time. */
export const isAlone = protocol === 'file:';
mkdirSync(OUT, { recursive: true });
export const scratch = mkdtempSync(join(tmpdir(), 'unspent-explorer-'));
export const equal = (found, expected) => found === expected || `${found}, not ${expected}`;

/** The allocation that most checks begin with. */
export const PRESET = 'pl94-persons-us-2020';
export const UNITS = 'pl94-units-us-2020';
/** The column of the guarantee. */
export const UPPER = 'upper (≤)';
export const LOWER = 'lower (≥)';

// ---- The command line

export const run = (...words) => execFileSync(UNSPENT, words, { encoding: 'utf8', maxBuffer: 1e8 });
const begin = promisify(execFile);
/** The same, without keeping the page waiting. */
export const runAside = async (...words) => (await begin(UNSPENT, words, { maxBuffer: 1e8 })).stdout;

const reports = new Map();
export async function keepReport(preset) {
  reports.set(preset, JSON.parse(await runAside('certificate', preset, '--json')));
}
/** The certificate of a preset, which is asked for once, or of a file, which may change. */
export function certificate(subject) {
  const asked = () => JSON.parse(run('certificate', subject, '--json'));
  if (subject.includes('/')) return asked();
  if (!reports.has(subject)) reports.set(subject, asked());
  return reports.get(subject);
}
export const lineOf = (report, label) => report.lines.find((line) => line.label === label);
/** The rows of the tables in what the command prints, as texts, without cells that are empty at the end. */
export function rowsOf(printed) {
  // In Markdown, where names are whole, or in columns.
  const cells = (line) => (line.startsWith('|') ? line.split('|').slice(1, -1) : line.trim().split(/ {2,}/));
  const row = (line) => cells(line).map((text) => text.trim()).join(' | ').replace(/( \| )+$/, '');
  return new Set(printed.replaceAll('\\', '').split('\n').map(row));
}
export const printedRows = (...words) => rowsOf(run(...words));
/** A row of the page, from its nodes, in the same way. */
export const shownRow = (cells) => cells.join(' | ').replace(/( \| –)+$/, '');

/** A decimal with as many places as `like` has, rounded up or down; by digits, not by doubles. */
export function rounded(text, like, up) {
  const [digits, exponent = '0'] = text.split('e');
  const [whole, decimals = ''] = digits.split('.');
  const places = (like.split('.')[1] || '').length;
  const value = BigInt(whole + decimals);
  const shift = BigInt(places - decimals.length + +exponent);
  let scaled = shift >= 0n ? value * 10n ** shift : value / 10n ** -shift;
  if (up && shift < 0n && value % 10n ** -shift) scaled += 1n;
  const padded = String(scaled).padStart(places + 1, '0');
  return places ? `${padded.slice(0, -places)}.${padded.slice(-places)}` : padded;
}

/** What a server answers, whoever answers the page. */
export const served = async (path) => (await fetch(new URL(path, api))).json();

/**
 * The same preset where no unit was bypassed, as a file: the same levels, queries, shares and published ε,
 * for a tenth of the work. For the checks that are not about paths.
 */
export const PLAIN = join(scratch, 'plain.toml');

async function writePlain() {
  const { draft } = await served(`/api/presets/${PRESET}`);
  const { keep, paths, ...production } = draft.production;
  if (!keep && !paths) throw new Error(`no unit of ${PRESET} is bypassed`);
  const plain = { ...draft, production };
  const part = { scope: 'total', name: null };
  const body = JSON.stringify({ format: 'toml', draft: plain, figure: 'curve', part, start: null });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(new URL('/api/export', api), { method: 'POST', headers, body });
  const file = await answer.text();
  if (!answer.ok) throw new Error(file);
  writeFileSync(PLAIN, file);
}
await writePlain();

// ---- The page

/** What the browser complains of, and requests to elsewhere. */
export const noise = [];
let isProvoked = false;

/** While `act` runs, requests are to be refused: the browser itself notes that on the console. */
export async function provoking(act) {
  isProvoked = true;
  try {
    return await act();
  } finally {
    isProvoked = false;
  }
}

export async function open(options = {}, hash = '') {
  const defaults = { viewport: { width: 1280, height: 1000 }, colorScheme: 'light', acceptDownloads: true };
  const context = await browser.newContext({ ...defaults, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], isAlone ? {} : { origin });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (isAlone) {
      noise.push(message.text());
      return;
    }
    // On a busy machine questions are put off, and asked again.
    if (/Failed to load resource.*\b503\b/.test(message.text())) return;
    // Where there is no schema, or a large one, there are no errors of estimates: the page says why.
    const isAccuracy = message.location().url.endsWith('/api/accuracy');
    if (isAccuracy && /Failed to load resource.*\b422\b/.test(message.text())) return;
    if (isProvoked && /Failed to load resource.*\b4\d\d\b/.test(message.text())) return;
    if (['error', 'warning'].includes(message.type())) noise.push(message.text());
  });
  page.on('pageerror', (error) => noise.push(String(error)));
  page.on('request', (request) => {
    const url = new URL(request.url());
    const isPage = isAlone ? request.url().split('#')[0] === address : url.origin === origin;
    if (!isPage && !['data:', 'blob:'].includes(url.protocol)) noise.push('request ' + request.url());
  });
  page.setDefaultTimeout(120000);
  await page.goto(new URL(hash, address).href);
  await ready(page);
  return page;
}

const inState = (page, state) => page.waitForSelector(`#results[data-state=${state}]`, { state: 'attached' });
export const ready = (page) => inState(page, 'ready');
export const inTrouble = (page) => inState(page, 'trouble');

export const text = (page, selector) => page.locator(selector).textContent();
const row = (label) => `#certificate tr[data-label="${label}"]`;
export const cell = (page, label, column) => text(page, `${row(label)} [data-column="${column}"]`);
/** A column of the page's own: start or change. */
export const own = (page, label, name) => text(page, `${row(label)} .${name}`);
export const upper = (page) => cell(page, 'total', UPPER);
export const slider = (page, level) =>
  page.locator(`[data-level="${level}"] > .control input[type=range]`);
export const field = (page, level) => page.locator(`[data-level="${level}"] > .control input[type=text]`);
export const wrongAt = (page, level) => text(page, `[data-level="${level}"] > .control .wrong`);
export const shares = (page) => page.locator('#levels input[type=text]')
  .evaluateAll((all) => all.map((node) => node.value).join(' '));

export async function press(page, key, times) {
  for (let i = 0; i < times; i++) await page.keyboard.press(key);
  await ready(page);
}

export async function click(page, selector) {
  await page.locator(selector).click();
  await ready(page);
}

/** Types into a field; `settled` waits for what comes of it. */
export async function type(page, node, value, settled = ready) {
  await node.fill(value);
  await page.keyboard.press('Enter');
  await settled(page);
}

export async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator(button).click()]);
  const path = join(scratch, download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

export async function choose(page, preset) {
  await page.locator('#preset').selectOption(preset);
  await ready(page);
}

/** The plain file as it was, whatever was done to it. */
export async function loadPlain(page) {
  await choose(page, UNITS);
  await page.locator('#file').setInputFiles(PLAIN);
  await page.waitForFunction(() =>
    document.querySelector('#preset option:checked').textContent === 'from plain.toml');
  await ready(page);
}

export async function look(page, part) {
  await page.locator('#part').selectOption(part);
  await ready(page);
}
export const WHOLE = { label: 'the whole release' };

export async function drop(page, name, content) {
  const transfer = await page.evaluateHandle(([file, body]) => {
    const found = new DataTransfer();
    found.items.add(new File([body], file));
    return found;
  }, [name, content]);
  await page.dispatchEvent('#drop', 'dragover', { dataTransfer: transfer });
  await page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
}

export async function picture(page, name, top) {
  await page.mouse.move(2, 2);
  await page.evaluate((selector) => {
    document.activeElement.blur();
    document.getElementById('controls').scrollTop = 0;
    document.querySelector(selector).scrollIntoView({ behavior: 'instant' });
  }, top);
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(OUT, name) });
}

export const linkTo = (value) => `#state=${deflateRawSync(JSON.stringify(value)).toString('base64url')}`;
