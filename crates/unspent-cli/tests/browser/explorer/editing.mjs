// Moving shares, steps back and forth, numbers that are none, and those that are too long.
import { readFileSync } from 'node:fs';
import { check } from '../checks.mjs';
import {
  PRESET, UNITS, certificate, choose, click, equal, field, inTrouble, lineOf, loadPlain, own, press,
  provoking, ready, rounded, saved, served, shares, slider, text, type, upper, wrongAt,
} from './page.mjs';

/** Of the preset: the ε at the start and after the first move, and the file that was exported then. */
export const seen = {};

export async function checkEditing(page) {
  await choose(page, PRESET);
  seen.start = await upper(page);
  await moving(page);
  await backAndForth(page);
  await loadPlain(page);
  await steps(page);
  await mistakes(page);
  await lengths(page);
  await check('of two quick choices the last counts', async () => {
    await page.route('**/api/presets/dhc-units-us-2020', async (route) => {
      await new Promise((after) => { setTimeout(after, 700); });
      await route.continue();
    });
    await page.locator('#preset').selectOption('dhc-units-us-2020');
    await page.locator('#preset').selectOption(UNITS);
    await page.waitForTimeout(1000);
    await ready(page);
    await page.unroute('**/api/presets/dhc-units-us-2020');
    const levels = await page.locator('[data-level]').count();
    const found = `${await page.locator('#preset').inputValue()} ${levels}`;
    await choose(page, PRESET);
    return equal(found, `${UNITS} 6`);
  });
  await check('other neighbours, another δ', async () => {
    await loadPlain(page);
    const start = await upper(page);
    await page.locator('input[name=neighbours][value=add-remove]').check();
    await ready(page);
    const other = await upper(page);
    await type(page, page.locator('#delta'), '1e-6');
    const notes = await text(page, '#certificate-notes');
    return other !== start && +await upper(page) < +other &&
      notes.includes('The start is at δ = 1e-10, for bounded neighbours') || notes;
  });
}

async function moving(page) {
  await check('a level is moved with the keyboard alone, and ε follows', async () => {
    await page.locator('#copy-link').focus();
    let reached = false;
    for (let i = 0; i < 60 && !reached; i++) {
      await page.keyboard.press('Tab');
      reached = await slider(page, 'State').evaluate((node) => node === document.activeElement);
    }
    if (!reached) return 'Tab does not reach it';
    const outline = await slider(page, 'State').evaluate((node) => getComputedStyle(node).outlineStyle);
    if (outline === 'none') return 'the focus is not seen';
    await press(page, 'ArrowLeft', 15);
    seen.moved = await upper(page);
    const whole = await text(page, '#epsilon');
    const said = await text(page, '#said');
    return +seen.moved < +seen.start && whole === rounded(seen.moved, whole, true) && said.includes(whole) ||
      `${seen.start} ${seen.moved} ${whole} ${said}`;
  });
  await check('the start stays beside it', async () => {
    const found = [await own(page, 'total', 'start'), await own(page, 'total', 'change'),
      await own(page, 'County', 'change')];
    return found[0] === seen.start && found[1].startsWith('−') && found[2] === '–' || found.join(' | ');
  });
  await check('one share moves one share', async () => (await text(page, '#level-sum')).includes('≈ 0.') &&
    await field(page, 'County').inputValue() === '447/4099');
  await check('what is exported has the same ε on the command line', async () => {
    seen.exported = await saved(page, '#export-toml');
    const { tight } = lineOf(certificate(seen.exported), 'total');
    return equal(rounded(tight.upper, seen.moved, true), seen.moved);
  });
  await check('… under a name of its own', () => {
    const file = readFileSync(seen.exported, 'utf8');
    const isNamed = /^name = .* \(changed\)"$/m.test(file) && /^source = "changed from: /m.test(file);
    return isNamed || file.slice(0, 300);
  });
  await check('the change overstates no improvement', async () => {
    const total = (file) => +lineOf(certificate(file), 'total').tight.upper;
    const [before, now] = [total(PRESET), total(seen.exported)];
    const by = parseFloat((await own(page, 'total', 'change')).replace('−', ''));
    return by <= before - now && by > before - now - 1.0001e-4 || `${by} for ${before - now}`;
  });
  await check('a certificate and three pictures are saved too', async () => {
    const table = readFileSync(await saved(page, '#export-csv'), 'utf8');
    for (const figure of ['curve', 'tradeoff', 'noise']) {
      await page.locator('#export-figure').selectOption(figure);
      if (!readFileSync(await saved(page, '#export-svg'), 'utf8').startsWith('<svg')) return figure;
    }
    return table.split('\n').length > 10;
  });
}

async function backAndForth(page) {
  await check('arrow keys in quick succession are one step; undo and redo, by button and key', async () => {
    const found = [];
    const step = async (act) => {
      await act();
      await ready(page);
      found.push(await upper(page));
    };
    await step(() => page.locator('#undo').click());
    await step(() => page.keyboard.press('Control+Shift+Z'));
    await step(() => page.keyboard.press('Control+z'));
    await step(() => page.locator('#redo').click());
    const { start, moved } = seen;
    return equal(found.join(' '), [start, moved, start, moved].join(' '));
  });
}

async function steps(page) {
  await check('a drag is one step', async () => {
    const before = await shares(page);
    const box = await slider(page, 'Tract').boundingBox();
    await page.mouse.move(box.x + 0.75 * box.width, box.y + box.height / 2);
    await page.mouse.down();
    for (const at of [0.7, 0.6, 0.5, 0.4]) {
      await page.mouse.move(box.x + at * box.width, box.y + box.height / 2, { steps: 4 });
      await page.waitForTimeout(300);
    }
    await page.mouse.up();
    await ready(page);
    const dragged = await shares(page);
    await click(page, '#undo');
    return dragged !== before && equal(await shares(page), before);
  });
  await check('a fraction stays as it is typed, and a slider gives the start back exactly', async () => {
    await type(page, field(page, 'Block'), '1/3');
    const typed = await field(page, 'Block').inputValue();
    await slider(page, 'State').focus();
    await press(page, 'ArrowLeft', 15);
    const moved = await field(page, 'State').inputValue();
    await press(page, 'ArrowRight', 15);
    const isMoved = moved !== '1440/4099';
    return isMoved && equal(`${typed} ${await field(page, 'State').inputValue()}`, '1/3 1440/4099');
  });
  await check('renormalising makes the sum 1, exactly and only when asked', async () => {
    await click(page, '#level-sum .renormalise');
    return (await text(page, '#level-sum')).includes('sum to 1.');
  });
}

async function mistakes(page) {
  await check('a wrong number is marked at its field, and the figures as out of date', async () => {
    const before = await upper(page);
    await type(page, field(page, 'Block'), 'a third', inTrouble);
    const said = await wrongAt(page, 'Block');
    await page.waitForFunction(() => {
      const opacity = (part) => getComputedStyle(document.querySelector(part)).opacity;
      const stale = ['#certificate', '#certificate-notes', '#promise', '[data-level="State"] .side'];
      return stale.every((part) => opacity(part) === '0.5') && opacity('#rho-slider') === '1';
    });
    const marked = await field(page, 'Block').getAttribute('aria-invalid') === 'true' &&
      await page.locator('#stale').isVisible() && await upper(page) === before;
    await type(page, field(page, 'Block'), '0.1');
    return marked && said.startsWith('Not a number') && await page.locator('#stale').isHidden();
  });
  await check('what only the program can refuse is marked there too', () => provoking(async () => {
    await type(page, field(page, 'Block'), '1e9', inTrouble);
    await page.waitForSelector('[data-level="Block"] > .control .wrong:not(:empty)');
    await page.waitForTimeout(500);
    await click(page, '#undo');
    return await wrongAt(page, 'Block') === '';
  }));
  await check('the way back to the start mends a field, and nothing is done until then', async () => {
    await click(page, '#reset');
    const before = await shares(page);
    await type(page, field(page, 'Block'), 'a third', inTrouble);
    for (const id of ['calibrate', 'export-toml', 'export-csv', 'export-svg']) {
      if (await page.locator(`#${id}`).isEnabled()) return id;
    }
    await click(page, '#reset');
    const isMended = await wrongAt(page, 'Block') === '' &&
      await field(page, 'Block').getAttribute('aria-invalid') === 'false';
    return isMended && await shares(page) === before && await page.locator('#calibrate').isEnabled() &&
      await page.locator('#export-toml').isEnabled() && await page.locator('#reset').isDisabled();
  });
}

async function lengths(page) {
  const { digits } = await served('/api/limits');
  await check('a number is as long as the program takes it: one more is refused at its field', async () => {
    await type(page, field(page, 'Block'), `0.${'1'.repeat(digits - 2)}`);
    const fits = await wrongAt(page, 'Block');
    await type(page, field(page, 'Block'), `0.${'1'.repeat(digits - 1)}`, inTrouble);
    const said = await wrongAt(page, 'Block');
    await click(page, '#reset');
    return fits === '' && said.includes(`at most ${digits} characters`) || `${fits} | ${said}`;
  });
  await check('renormalising makes no share that the program refuses, and says so', async () => {
    for (const [i, level] of ['State', 'County', 'Tract'].entries()) {
      const [n, d] = [10n ** 89n * BigInt(i + 1), 10n ** 90n + 2n * BigInt(i) + 1n];
      await type(page, field(page, level), `${n}/${d}`);
    }
    const before = await shares(page);
    await page.locator('#level-sum .renormalise').click();
    const said = await text(page, '#notice');
    await ready(page);
    const after = await shares(page);
    await click(page, '#reset');
    return after === before && said.includes(`more than ${digits} characters`) || said;
  });
}
