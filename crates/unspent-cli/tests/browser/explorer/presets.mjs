// Every preset, as the command line has it.
import { check } from '../checks.mjs';
import {
  LOWER, UPPER, cell, certificate, choose, equal, keepReport, rounded, rowsOf, run, runAside, shownRow, text,
} from './page.mjs';

const listed = async (page, id) => JSON.stringify(await page.locator(`${id} li`).allTextContents());

/** The certificate as the command prints it, found while the page asks for its own. */
async function printedOf(preset) {
  await keepReport(preset);
  const table = await runAside('certificate', preset, '--markdown');
  return { table, text: await runAside('certificate', preset) };
}

/** What of the page's table is not as the command has it, or an empty text. */
async function strayRow(page, printed, report) {
  const [, ...heads] = [...printed].find((row) => row.startsWith('epsilon of | ')).split(' | ');
  const rows = await page.locator('#certificate tr[data-label]').evaluateAll((all, columns) =>
    all.map((row) => {
      const cells = [...row.querySelectorAll('[data-column]')];
      const inColumn = (name) => cells.find((node) => node.dataset.column === name);
      return [row.querySelector('th'), ...columns.map(inColumn)].map((node) => node?.textContent);
    }), heads);
  if (rows.length !== report.lines.length) return `${rows.length} lines, not ${report.lines.length}`;
  return rows.map(shownRow).find((row) => !printed.has(row)) ?? '';
}

/** Each guarantee is rounded up, each lower end down. */
async function misrounded(page, report) {
  for (const line of report.lines) {
    for (const [column, exact, up] of [[UPPER, line.tight.upper, true], [LOWER, line.tight.lower, false]]) {
      const shown = (await cell(page, line.label, column)).replace('°', '');
      if (shown.includes('e')) continue; // too small for plain decimals
      if (shown !== rounded(exact, shown, up)) return `${line.label}, ${column}: ${shown} for ${exact}`;
    }
  }
  return '';
}

export async function checkPresets(page) {
  await check('it loads, with a first preset, a certificate and three figures', async () => {
    const drawn = await page.evaluate(() => [...document.querySelectorAll('figure.chart')].every((figure) => {
      const shapes = [...figure.querySelectorAll('.panel svg .series :is(path, rect)')];
      const isSound = (shape) => shape.tagName !== 'path' || !/NaN|Infinity/.test(shape.getAttribute('d'));
      return shapes.length && shapes.every(isSound);
    }));
    return drawn && await page.locator('#preset').inputValue() !== '';
  });
  const presets = JSON.parse(run('presets', '--json'));
  const options = page.locator('#preset option:not([hidden])');
  const offered = await options.evaluateAll((all) => all.map(({ value }) => value));
  const editable = presets.filter(({ levels }) => levels > 0).map(({ preset }) => preset);
  await check('it offers all that has levels to edit', async () => equal(offered.join(), editable.join()));
  for (const preset of editable) {
    await check(`${preset} as the command line has it`, async () => {
      const [printed] = await Promise.all([printedOf(preset), choose(page, preset)]);
      const report = certificate(preset);
      const wrong = await strayRow(page, rowsOf(printed.table), report) || await misrounded(page, report);
      if (wrong) return wrong;
      const whole = await text(page, '#epsilon');
      if (whole !== rounded(report.lines[0].tight.upper, whole, true)) return `headline: ${whole}`;
      const verdict = await text(page, '#verdict');
      const isKept = report.kept && await page.locator('#verdict').getAttribute('data-kept') === 'true';
      const isPrinted = verdict === printed.text.split('\n')[0];
      if (!isKept || !isPrinted || await page.locator('#export-warning').isVisible()) return verdict;
      const missing = report.missing.map(({ name, about }) => `${name} (${about})`);
      const assumed = equal(await listed(page, '#assumptions'), JSON.stringify(report.assumptions));
      return assumed === true ? equal(await listed(page, '#missing'), JSON.stringify(missing)) : assumed;
    });
  }
}
