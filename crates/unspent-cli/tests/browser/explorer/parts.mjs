// One part in detail: what is said of it, and the paths behind it.
import { check } from '../checks.mjs';
import {
  PRESET, UNITS, WHOLE, certificate, choose, click, lineOf, look, provoking, run, text,
} from './page.mjs';

export async function checkParts(page) {
  await check('a part can be looked at, and is read in plain words', async () => {
    await choose(page, PRESET);
    const whole = await text(page, '#reading');
    await look(page, { label: 'hispanic' });
    const part = await text(page, '#reading');
    const range = ['--from', '0.01', '--to', '0.05', '--points', '2'];
    const curve = JSON.parse(run('tradeoff', PRESET, '--attribute', 'hispanic', ...range, '--json'));
    const power = 100 * (1 - curve.points[0].misses.lower);
    const shown = parseFloat(/at most ([\d.]+)/.exec(await text(page, '#reading [data-alpha="0.01"]'))[1]);
    await look(page, WHOLE);
    return whole.includes('which of two given records one person really has') &&
      part.includes('values of “hispanic” one person has') && shown >= power - 1e-9 && shown < power + 0.11 ||
      `${shown} for ${power}: ${whole} | ${part}`;
  });
  await check('a record inside one unit is looked at, and the worst paths are named', async () => {
    await look(page, { label: 'record-within-Block_Group' });
    const line = lineOf(certificate(PRESET), 'record-within-Block_Group');
    const found = [];
    for (const id of ['#paths', '#reading', '#figure-curve']) found.push(await text(page, id));
    const [paths, reading, drawn] = found;
    const [{ from, to }] = line.worst;
    await look(page, WHOLE);
    const worst = `the worst of ${line.cases} pairs of paths: from ${from.join(' → ')} to ${to.join(' → ')}.`;
    return paths.includes(worst) && paths.includes('not a guarantee for others') &&
      reading.includes('which of two given records, counted in the same Block_Group, one person') &&
      drawn.includes('record-within-Block_Group') || found.join(' | ');
  });
  await check('exact totals have no neighbours that are added or removed, and that is said', async () => {
    await choose(page, UNITS);
    const notes = await text(page, '#certificate-notes');
    const said = await provoking(async () => {
      await page.locator('input[name=neighbours][value=add-remove]').check();
      await page.waitForSelector('#draft-trouble p');
      await page.waitForTimeout(500);
      const trouble = await text(page, '#draft-trouble');
      await click(page, '#undo');
      return trouble;
    });
    await choose(page, PRESET);
    return notes.includes('Nothing is said of places inside US, State') &&
      notes.includes('the totals of `Block` are exact') && said.includes('exact_totals') ||
      `${notes} | ${said}`;
  });
}
