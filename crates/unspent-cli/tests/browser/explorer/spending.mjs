// Removable noise: what is said of it, and what taking it out does.
import { readFileSync } from 'node:fs';
import { check } from '../checks.mjs';
import { seen } from './editing.mjs';
import {
  PLAIN, PRESET, UPPER, cell, certificate, choose, click, equal, field, lineOf, loadPlain, printedRows, ready,
  rounded, saved, shares, shownRow, text, type, upper,
} from './page.mjs';

/** The rows of the result that are not as the command prints them, and how many rows there are. */
async function strayRows(page, ...words) {
  const rows = await page.locator('#spent tr[data-label]').evaluateAll((all) =>
    all.map((row) => [...row.children].map((node) => node.textContent)));
  const printed = printedRows('calibrate', ...words);
  return [rows.map(shownRow).filter((row) => !printed.has(row)), rows.length];
}

async function calibrate(page, until = '#spent tr[data-label=total]') {
  await page.locator('#calibrate').click();
  await page.waitForSelector(until);
  await ready(page);
}

export async function checkSpending(page) {
  await check('removable noise is removed, as one step', async () => {
    await choose(page, PRESET);
    await calibrate(page);
    const [stray, count] = await strayRows(page, PRESET);
    if (stray.length || count !== 7) return `${count} rows: ${stray.join('; ')}`;
    const promised = lineOf(certificate(PRESET), 'total').canonne_kamath_steinke;
    const after = await text(page, '#epsilon');
    if (after !== rounded(promised, after, true)) return `${after} for ${promised}`;
    // What was removed is gone.
    const change = await text(page, '#reductions tr[data-label=total] [data-column=change]');
    const left = Math.abs(parseFloat(change.replaceAll('−', '-')));
    const said = await text(page, '#promise');
    await click(page, '#undo');
    return left < 1e-6 && said.startsWith('There is no removable noise') &&
      await upper(page) === seen.start && await page.locator('#spent').isHidden() || `${left} left; ${said}`;
  });
  await check('each level by itself, and what that exceeds', async () => {
    await loadPlain(page);
    await page.locator('input[name=scaling][value=level]').check();
    await calibrate(page, '#spent .trouble');
    const [stray] = await strayRows(page, PLAIN, '--scope', 'level');
    const warning = await text(page, '#spent .trouble');
    await click(page, '#undo');
    await page.locator('input[name=scaling][value=total]').check();
    return !stray.length && warning.includes('together the levels exceed') ||
      `${stray.join('\n')} ${warning}`;
  });
  await check('with a level and a query left out every label keeps its place', async () => {
    const names = () => page.locator('#levels label').allTextContents().then((all) => all.join('|'));
    const before = await names();
    const query = page.locator('[data-level="State"] [data-query="cenrace"] input[type=text]');
    await page.locator('[data-level="State"] summary').click();
    for (const node of [field(page, 'County'), query]) await type(page, node, '0');
    await calibrate(page, '#spent tr[data-label=total], #keep-trouble p');
    const refused = await text(page, '#keep-trouble');
    const zeros = [await field(page, 'County').inputValue(), await query.inputValue()].join(' ');
    const side = (level) => text(page, `[data-level="${level}"] > .control .side`);
    const tract = (await side('Tract')).slice('ε ≤ '.length);
    const county = await side('County');
    const isSame = tract === rounded(await cell(page, 'Tract', UPPER), tract, true);
    const after = await names();
    await loadPlain(page);
    return refused || after === before && isSame && equal(`${zeros} ${county}`, '0 0 not released');
  });
  await promises(page);
}

async function promises(page) {
  await check('a promise that is not kept is said to be broken, and does not outlive its δ', async () => {
    await calibrate(page);
    if (await page.locator('#verdict').getAttribute('data-kept') !== 'true') return 'broken by calibrating';
    if (!(await text(page, '#promise')).startsWith('There is no removable noise')) return 'not spent';
    await type(page, page.locator('#rho'), '10');
    const broken = [];
    for (const id of ['#verdict', '#promise', '#export-warning']) broken.push(await text(page, id));
    await click(page, '#undo');
    const mended = await page.locator('#verdict').getAttribute('data-kept') === 'true' &&
      await page.locator('#export-warning').isHidden();
    await type(page, page.locator('#delta'), '1e-6');
    const [said, left] = [await text(page, '#notice'), await text(page, '#promise')];
    const file = readFileSync(await saved(page, '#export-toml'), 'utf8');
    const isDropped = /^delta = "1e-6"$/m.test(file) && !/^epsilon = /m.test(file);
    await loadPlain(page);
    const verdict = /^PROMISE NOT KEPT: states epsilon ≈ 17\.1435\d* at delta 1e-10, delivers at least \d/;
    return mended && verdict.test(broken[0]) && broken[1].includes('needs more noise') &&
      broken[2] === `The exported allocation will state what is certified instead. ${broken[0]}` &&
      isDropped && said.includes('dropped') &&
      left.includes('does not say what ε was published') ||
      [mended, ...broken, file.slice(0, 400), said, left].join(' | ');
  });
  await check('an ε to keep that is none is refused at its field', async () => {
    const before = await shares(page);
    await page.locator('#keep').fill('lots');
    await page.locator('#calibrate').click();
    const said = await text(page, '#keep-trouble');
    await page.locator('#keep').fill('');
    return said.startsWith('Not a number') && await shares(page) === before;
  });
}
