// Other mechanisms: Laplace noise of levels and queries, and what is released beside them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from '../checks.mjs';
import {
  EXAMPLES, UNITS, certificate, choose, click, drop, equal, inTrouble, lineOf, look, open, own, picture,
  press,
  provoking, ready, rounded, saved, text, type, upper,
} from './page.mjs';

const SURVEY = join(EXAMPLES, 'survey.toml');
const valuesOf = (page, selector) =>
  page.locator(selector).evaluateAll((all) => all.map(({ value }) => value));
const cards = (page) => page.locator('[data-also]');
const note = (page, i) => page.locator(`#also-${i}-note`);

async function load(page, path) {
  await choose(page, UNITS);
  await page.locator('#file').setInputFiles(path);
  await page.waitForSelector('[data-level="Municipality"]');
  await ready(page);
}

/** An allocation of which every answer is there at once, whatever is beside it. */
const SMALL = 'name = "small"\nneighbours = "bounded"\ndelta = "1e-9"\n[queries]\ntotal = []\n' +
  '[[levels]]\nname = "Country"\n[levels.sigma2]\ntotal = 50\n' +
  '[[levels]]\nname = "Region"\n[levels.sigma2]\ntotal = 100\n';

async function plain(page) {
  await choose(page, UNITS);
  await drop(page, 'small.toml', SMALL);
  await page.waitForFunction(() => document.querySelectorAll('[data-level]').length === 2);
  await ready(page);
}

/** The ε of the whole, as the command has it for what the page exports. */
async function asExported(page) {
  const shown = await upper(page);
  const path = await saved(page, '#export-toml');
  const report = certificate(path);
  const { upper: exact } = lineOf(report, 'total').tight;
  return [equal(shown, rounded(exact, shown, true)), readFileSync(path, 'utf8')];
}

/** Adds a mechanism of a kind, with parameters. */
async function add(page, kind, parameters) {
  const i = await cards(page).count();
  await click(page, '#also-add');
  await page.locator(`#also-${i}-kind`).selectOption(kind);
  await ready(page);
  for (const [name, value] of Object.entries(parameters)) {
    await type(page, page.locator(`#also-${i}-${name}`), value);
  }
  return i;
}

export async function checkAlso(page) {
  await provoking(async () => {
    await laplace(page);
    await beside(page);
    await asymmetric(page);
  });
}

async function laplace(page) {
  await check('a file with Laplace noise and other mechanisms is shown, as the command has it', async () => {
    await load(page, SURVEY);
    const [isEqual] = await asExported(page);
    const kinds = await valuesOf(page, '[data-also] select');
    const subject = await text(page, '#subject');
    const state = await page.locator('#results').getAttribute('data-state');
    return isEqual === true && kinds.join() === 'laplace,subsampled_gaussian' && state === 'ready' &&
      subject.includes('the larger of the two directions') || `${isEqual} ${kinds} ${subject}`;
  });
  await check('what a release does not have is refused by name, and all else is there', async () => {
    const isRead = async () => await page.locator('#reading-refusal').isHidden() &&
      (await text(page, '#reading')).length > 100;
    const whole = await isRead();
    const isCurve = await page.locator('#figure-curve').isVisible();
    const isDrawn = await page.locator('#figure-tradeoff').isVisible();
    const trouble = await page.locator('#draft-trouble').isVisible();
    await look(page, { label: 'Municipality' });
    const level = await isRead();
    await look(page, { index: 0 });
    const promise = await text(page, '#promise');
    return whole && level && isCurve && isDrawn && !trouble && promise.includes('Gaussian noise alone') &&
      await page.locator('#calibrate').isDisabled() || `${whole} ${level} ${isCurve} ${isDrawn} ${promise}`;
  });
  await check('the scale of a level is set, and its ε follows', async () => {
    await page.locator('[data-level="Municipality"] summary').click();
    const scale = page.locator('[data-level="Municipality"] [data-query="total"] input[type=text]');
    const before = await upper(page);
    await type(page, scale, '5');
    const [after, [isEqual, file]] = [await upper(page), await asExported(page)];
    await click(page, '#undo');
    const isBack = await upper(page) === before;
    return isEqual === true && +after > +before && file.includes('total = "5"') && isBack ||
      `${isEqual} ${before} ${after}`;
  });
  for (const [name, width, colorScheme] of [['wide', 1280, 'light'], ['narrow', 400, 'dark']]) {
    await check(`pictures with other mechanisms, ${name}`, async () => {
      const shot = await open({ viewport: { width, height: width > 500 ? 900 : 2200 }, colorScheme });
      await load(shot, SURVEY);
      await picture(shot, `also-${name}.png`, '#also-title');
      await shot.evaluate(() => { document.querySelector('#controls').scrollTop = 1e6; });
      await shot.waitForTimeout(200);
      const path = join(process.env.OUT, `also-${name}-cards.png`);
      await shot.screenshot({ path });
      await picture(shot, `also-${name}-closer.png`, '#closer-title');
      await shot.context().close();
      return true;
    });
  }
}

async function beside(page) {
  await check('a mechanism is added, changed and removed; ε, curve and export follow', async () => {
    await plain(page);
    const alone = await upper(page);
    const i = await add(page, 'discrete_laplace', { scale: '2.5', count: '3' });
    const curve = () => page.locator('#figure-curve').innerHTML();
    const [with3, drawn] = [await upper(page), await curve()];
    const [isEqual, file] = await asExported(page);
    await type(page, page.locator(`#also-${i}-count`), '4');
    const with4 = await upper(page);
    const isDrawn = drawn !== await curve();
    await page.locator(`#also-${i}-kind`).selectOption('pure_dp');
    await ready(page);
    const kept = await page.locator(`#also-${i}-count`).inputValue();
    await page.locator('[data-also="0"] button').click();
    await ready(page);
    const isBack = await upper(page) === alone && await cards(page).count() === 0;
    await click(page, '#undo');
    const isThere = await cards(page).count() === 1 && await own(page, 'total', 'start') === alone;
    await click(page, '#reset');
    return isEqual === true && file.includes('kind = "discrete_laplace"\nscale = "5/2"') && +alone < +with3 &&
      +with3 < +with4 && isDrawn && kept === '4' && isBack && isThere ||
      `${isEqual} ${alone} ${with3} ${with4} ${isDrawn} ${kept} ${isBack} ${isThere}`;
  });
  await check('what is wrong with a mechanism is said at its field, and nothing else is lost', async () => {
    const i = await add(page, 'discrete_laplace', {});
    const wrong = () => text(page, `#also-${i}-scale-wrong`);
    const before = await upper(page);
    await type(page, page.locator(`#also-${i}-scale`), 'wide', inTrouble);
    const here = await wrong();
    await type(page, page.locator(`#also-${i}-scale`), '-1', inTrouble);
    await page.waitForFunction((id) => document.getElementById(id).textContent.includes('never negative'),
      `also-${i}-scale-wrong`);
    const there = await wrong();
    const isElsewhere = await page.locator('#draft-trouble').isVisible();
    await type(page, page.locator(`#also-${i}-scale`), '10');
    const isWell = await wrong() === '' && await upper(page) === before;
    await type(page, note(page, i), '', inTrouble);
    const noted = await text(page, `#also-${i}-note-wrong`);
    await click(page, '#reset');
    return here.startsWith('Not a number') && there.includes('is not a scale b') && !isElsewhere && isWell &&
      noted.includes('the guarantee rests on it') ||
      `${here} | ${there} | ${isElsewhere} ${isWell} | ${noted}`;
  });
  await check('a link keeps them', async () => {
    await add(page, 'pure_dp', { epsilon: '1/10' });
    const whole = await upper(page);
    await page.waitForTimeout(500);
    const other = await open({}, new URL(page.url()).hash);
    const found = [await upper(other), await other.locator('#also-0-epsilon').inputValue(),
      await other.locator('#also-0-kind').inputValue()];
    await other.context().close();
    await click(page, '#reset');
    return equal(found.join(), [whole, '1/10', 'pure_dp'].join());
  });
}

async function asymmetric(page) {
  await check('a sampled mechanism needs neighbours that come and go, and says its direction', async () => {
    await plain(page);
    const kinds = () => valuesOf(page, '#also-0-kind option');
    await click(page, '#also-add');
    const bounded = await kinds();
    await page.locator('input[name=neighbours][value=add-remove]').check();
    await ready(page);
    const free = await kinds();
    await page.locator('#also-0-kind').selectOption('subsampled_gaussian');
    await ready(page);
    const said = await text(page, '#subject');
    const [isEqual] = await asExported(page);
    await page.locator('input[name=neighbours][value=bounded]').check();
    await inTrouble(page);
    await page.waitForFunction(() => document.querySelector('[data-also] > .wrong').textContent);
    const refused = await text(page, '[data-also] > .wrong');
    await click(page, '#reset');
    await page.locator('#preset').focus();
    await press(page, 'Tab', 1);
    return !bounded.includes('subsampled_gaussian') && free.includes('subsampled_gaussian') &&
      said.includes('the larger of the two directions') && isEqual === true &&
      refused.includes('if a record is added or removed') ||
      `${bounded} ${free} ${said} ${isEqual} ${refused}`;
  });
}
