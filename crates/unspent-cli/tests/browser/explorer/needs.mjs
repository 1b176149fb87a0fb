// Needs: an allocation is found for them, follows a margin that is dragged, and is set.
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { check } from '../checks.mjs';
import {
  PLAIN, click, equal, loadPlain, picture, ready, rounded, run, scratch, text,
} from './page.mjs';

const EPSILON = '#design-epsilon b';

/** Waits until all needs, so many, are answered with prices, and ε is another than before. */
const answered = (page, count, before = '') => page.waitForFunction(([selector, needs, was]) =>
  document.querySelector('#needs[data-state=ready]') &&
  document.querySelectorAll('.need .outcome [data-share]').length === needs &&
  document.querySelector(selector).textContent !== was, [EPSILON, count, before]);

/** What the command says of one need. */
function designed(level, margin) {
  const path = join(scratch, 'needs.toml');
  writeFileSync(path, `allocation = "${basename(PLAIN)}"\ngoal = "least-epsilon"\nrest = { drop = true }\n` +
    `[[needs]]\nlevel = "${level}"\nmargin = "${margin}"\n`);
  return JSON.parse(run('design', path, '--json', '--no-prices'));
}

export async function checkNeeds(page) {
  const slider = page.locator('.need input[type=range]').first();
  const margin = page.locator('.need .margin input[type=text]').first();
  await check('a need gets the allocation that the command finds', async () => {
    await loadPlain(page);
    await page.locator('#needs > summary').click();
    await page.locator('#need-add').click();
    await answered(page, 1);
    const level = await page.locator('.need select').first().inputValue();
    const { epsilon } = designed(level, await margin.inputValue());
    const shown = await text(page, EPSILON);
    return equal(shown, rounded(epsilon.upper, shown, true));
  });
  await check('a margin is dragged, and ε and the shares follow', async () => {
    const alone = await text(page, EPSILON);
    await page.locator('#need-add').click();
    await page.locator('.need').nth(1).locator('select').first().selectOption('Tract');
    await answered(page, 2, alone);
    const shares = () => page.locator('.need [data-share]').evaluateAll((all) =>
      all.map((node) => +node.dataset.share));
    const before = await text(page, EPSILON);
    const [share] = await shares();
    await slider.focus();
    for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowLeft');
    await answered(page, 2, before);
    const after = await text(page, EPSILON);
    const [first, second] = await shares();
    return +after > +before && first > share && Math.abs(first + second - 1) < 1e-5 ||
      `ε from ${before} to ${after}; shares from ${share} to ${first} and ${second}`;
  });
  await check('the designed allocation is set, as one step', async () => {
    const found = +await text(page, EPSILON);
    const before = await page.locator('#rho').inputValue();
    await page.locator('#design-use').click();
    await page.waitForFunction((was) => document.getElementById('rho').value !== was, before);
    await ready(page);
    const set = +await text(page, '#epsilon');
    await picture(page, 'needs.png', '#needs-title');
    await click(page, '#undo');
    return Math.abs(set - found) < 1e-3 || `${set} for ${found}`;
  });
  await check('needs on a narrow and dark page', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 400, height: 1000 });
    await picture(page, 'needs-narrow-dark.png', '#needs-title');
    const [content, frame] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    await page.setViewportSize({ width: 1280, height: 1000 });
    await page.emulateMedia({ colorScheme: 'light' });
    for (let i = 0; i < 2; i++) await page.locator('.need .what button').first().click();
    await page.waitForSelector('#needs[data-state=none]', { state: 'attached' });
    await page.locator('#needs > summary').click();
    return content <= frame || `${content} in ${frame}`;
  });
}
