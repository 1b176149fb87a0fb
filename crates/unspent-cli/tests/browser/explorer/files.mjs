// Files that are chosen or dropped: good ones, bad ones, hostile ones, and what was exported.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from '../checks.mjs';
import { seen } from './editing.mjs';
import {
  EXAMPLES, LOWER, UNITS, UNSPENT, certificate, choose, drop, equal, lineOf, look, picture, press, provoking,
  ready, rounded, run, saved, scratch, shares, slider, text, upper,
} from './page.mjs';

const good = readFileSync(join(EXAMPLES, 'blocks.toml'), 'utf8');
const written = (name, content) => {
  writeFileSync(join(scratch, name), content);
  return join(scratch, name);
};
const levels = (page, count) =>
  page.waitForFunction((n) => document.querySelectorAll('[data-level]').length === n, count);

export async function checkFiles(page) {
  await check('a file is chosen', async () => {
    const file = join(EXAMPLES, 'blocks.toml');
    await page.locator('#file').setInputFiles(file);
    await page.waitForSelector('[data-level="Block group"]');
    await ready(page);
    const shown = await upper(page);
    return equal(shown, rounded(lineOf(certificate(file), 'total').tight.upper, shown, true));
  });
  await check('a bad file is dropped: line, column, excerpt and hint, and everything stays', async () => {
    const bad = good.replace('share = "2/10"', 'share = "1/10"');
    const before = await shares(page);
    await provoking(async () => {
      await drop(page, 'bad.toml', bad);
      await page.waitForSelector('#file-trouble pre');
    });
    const said = await page.locator('#file-trouble').innerText();
    let place = '';
    try {
      execFileSync(UNSPENT, ['certificate', written('bad.toml', bad)], { stdio: 'pipe' });
    } catch (error) {
      [place] = /bad\.toml:\d+:\d+/.exec(String(error.stderr));
    }
    return place && said.includes(place) && said.includes('^') && said.includes('Hint') &&
      await shares(page) === before || `${place} in ${said}`;
  });
  await check('a good file is dropped', async () => {
    await choose(page, UNITS);
    await drop(page, 'blocks.toml', good);
    await page.waitForSelector('[data-level="Block group"]');
    await ready(page);
    const isGood = await page.locator('#file-trouble').isHidden();
    return isGood && (await text(page, '#subject')).includes('blocks by voting age');
  });
  await check('a file that is too large is refused before it is sent', async () => {
    const before = await shares(page);
    await drop(page, 'large.toml', `${good}#${'x'.repeat(3e5)}`);
    await page.waitForSelector('#file-trouble p');
    const said = await text(page, '#file-trouble');
    return said.includes('larger than 256 KiB') && await shares(page) === before || said;
  });
  await check('a table of budgets is asked for its neighbours', async () => {
    await drop(page, 'budget.csv', 'level,query,rho\nState,total,1/2\nState,age,1\nCounty,total,1/3\n');
    await page.waitForSelector('#file-neighbours:not([hidden])');
    if (await page.locator('#file-read').isEnabled()) return 'not asked';
    await page.locator('input[name=file-neighbours][value=add-remove]').check();
    await page.locator('#file-read').click();
    await levels(page, 2);
    await ready(page);
    const isSet = await page.locator('input[name=neighbours][value=add-remove]').isChecked();
    return isSet && await page.locator('#file-neighbours').isHidden();
  });
  await broken(page);
  await hostile(page);
  await check('what was exported is read again, with the same ε', async () => {
    await page.locator('#file').setInputFiles(seen.exported);
    await levels(page, 6);
    await ready(page);
    return equal(await upper(page), seen.moved);
  });
}

async function broken(page) {
  await check('a stated ε that is not kept: said at the top, and not in what is exported', async () => {
    const file = good.replace('conversion = "canonne-kamath-steinke"', 'epsilon = "5"');
    await drop(page, 'broken.toml', file);
    await page.waitForSelector('#verdict[data-kept=false]');
    await ready(page);
    const printed = run('certificate', written('broken.toml', file)).split('\n')[0];
    const [verdict, warning] = [await text(page, '#verdict'), await text(page, '#export-warning')];
    const again = JSON.parse(run('certificate', await saved(page, '#export-toml'), '--json'));
    await slider(page, 'State').focus();
    await press(page, 'ArrowLeft', 3);
    const still = await page.locator('#verdict').getAttribute('data-kept');
    for (const [width, colorScheme] of [[1280, 'light'], [400, 'dark']]) {
      await page.setViewportSize({ width, height: 1000 });
      await page.emulateMedia({ colorScheme });
      await picture(page, `broken-${width}.png`, '#certificate-title');
    }
    await page.setViewportSize({ width: 1280, height: 1000 });
    await page.emulateMedia({ colorScheme: 'light' });
    return verdict.startsWith('PROMISE NOT KEPT: states epsilon 5 at delta 1e-10, delivers at least ') &&
      verdict === printed && warning.endsWith(printed) && again.kept === true &&
      Number(again.promises[0].epsilon) >= Number(again.lines[0].tight.upper) && still === 'false' ||
      `${verdict} | ${printed} | ${warning} | ${JSON.stringify(again.promises)} ${still}`;
  });
}

async function hostile(page) {
  await check('names and texts of a file are never markup; a lower end not attained is marked', async () => {
    const tag = (n) => `<img src=x onerror=alert(${n})>`;
    const level = (n, share) => `[[levels]]\nname = "${tag(n)}"\nshare = "${share}"\n[levels.shares]\n` +
      `"${tag(7)}" = "1/3"\n"${tag(9)}" = "2/3"\n`;
    const file = `name = "${tag(0)}"\nrecord = "${tag(1)}"\nneighbours = "bounded"\ndelta = "1e-10"\n` +
      `epsilon = "1"\nrho = "1"\nseries = "2020 Census, United States"\nassumptions = ["${tag(2)}"]\n` +
      `attributes = ["${tag(5)}", "${tag(6)}"]\n[bypass]\nkeep = ["${tag(3)}"]\n[queries]\n` +
      `"${tag(7)}" = ["${tag(5)}"]\n"${tag(9)}" = []\n${level(3, '1/2')}${level(4, '1/4')}${level(8, '1/4')}`;
    await drop(page, 'hostile.toml', file);
    await page.waitForSelector('#subject:has-text("onerror=alert(0)")');
    await ready(page);
    const report = certificate(written('hostile.toml', file));
    const parts = await page.locator('#part option').count();
    for (let i = 0; i < parts; i++) {
      await look(page, { index: i });
      if (await page.locator('img').count()) return `markup at ${i}`;
    }
    const lowers = await page.locator(`#certificate [data-column="${LOWER}"]`).allTextContents();
    const unsure = lowers.filter((shown) => shown.endsWith('°')).length;
    const expected = report.lines.filter((line) => !line.attained).length;
    await look(page, { index: 0 });
    const missing = await page.locator('#missing li').count();
    const [assumed, paths] = [await text(page, '#assumptions'), await text(page, '#paths')];
    return expected > 0 && unsure === expected && assumed.includes(tag(2)) && missing === 7 &&
      paths.includes(`from ${tag(3)}`) || `${unsure} of ${expected} | ${assumed} | ${missing} | ${paths}`;
  });
}
