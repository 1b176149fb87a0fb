// Opens a report in Chromium and uses it as a reader would:
// node report.mjs report.html [least number of charts]
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { browser, check, finish } from './checks.mjs';

const [file, least = '1'] = process.argv.slice(2);
if (!file) {
  console.error('usage: node report.mjs report.html [least number of charts]');
  process.exit(2);
}
const url = pathToFileURL(resolve(file)).href;

/** A text without what is set differently on the page: raised digits, and white space. */
const lowered = (c) => '0123456789+−'['⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻'.indexOf(c)];
const plain = (text) => text.replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]/g, lowered).replace(/[\s^]+/g, '');
const noise = [];
async function open(options) {
  const page = await (await browser.newContext(options)).newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) noise.push(message.text());
  });
  page.on('pageerror', (error) => noise.push(String(error)));
  page.on('request', (request) => {
    const isHere = request.url() === url || request.url().startsWith('data:');
    if (!isHere) noise.push('request ' + request.url());
  });
  page.setDefaultTimeout(5000);
  await page.goto(url);
  // What keeps a chart of curves on a log axis, the richest kind; any chart with curves will do else.
  const id = await page.evaluate(() => {
    const charts = [...document.querySelectorAll('figure.chart')].map((figure) => {
      const data = JSON.parse(figure.querySelector('script').textContent);
      return { id: figure.id, panel: data.panels[0] };
    });
    const lines = ({ panel }) => panel?.series.filter((series) => series.data.line).length;
    const curves = charts.filter((chart) => lines(chart) > 1);
    return (curves.find(({ panel }) => panel.y.scale === 'log10') || curves[0]).id;
  });
  const chart = page.locator(`[id="${id}"]`);
  const panel = chart.locator('.panel svg').first();
  await panel.scrollIntoViewIfNeeded();
  const place = async (x, y) => {
    const box = await panel.locator('.grid').boundingBox();
    return [box.x + x * box.width, box.y + y * box.height];
  };
  const ticks = () => panel.locator('.tick-x, .tick-y').allTextContents().then((all) => all.join(' '));
  const hover = async (x, y) => page.mouse.move(...await place(x, y));
  return { page, id, chart, panel, place, ticks, readout: chart.locator('.readout'), hover };
}

const desk = { viewport: { width: 1280, height: 900 }, colorScheme: 'light' };
const { page, id, chart, panel, place, ticks, readout, hover } = await open(desk);

await check(`at least ${least} charts`, async () => {
  const count = await page.locator('figure.chart').count();
  return count >= +least || `only ${count}`;
});
await check('every chart is interactive and drawn', () => page.evaluate(() => {
  const bad = [...document.querySelectorAll('figure.chart')].filter((figure) => {
    const shapes = [...figure.querySelectorAll('.live .panel svg .series :is(path, rect, circle)')];
    const isBad = (d) => !d || /NaN|Infinity/.test(d);
    const paths = shapes.filter((shape) => shape.tagName === 'path');
    return !shapes.length || paths.some((path) => isBad(path.getAttribute('d')));
  });
  return !bad.length || bad.map((figure) => figure.id).join(', ');
}));
await check('the static drawing gives way to the interactive one', async () =>
  !(await chart.locator('> svg').isVisible()) && panel.isVisible());

const labels = await page.evaluate((chartId) => {
  const data = JSON.parse(document.getElementById(chartId).querySelector('script').textContent);
  return data.panels[0].series.map((s) => s.label).filter(Boolean);
}, id);
await check('hovering shows every series', async () => {
  await hover(0.5, 0.5);
  const text = plain(await readout.innerText());
  const missing = labels.filter((label) => !text.includes(plain(label)));
  return !missing.length || 'missing ' + missing.join(', ');
});
await check('the readout follows the pointer', async () => {
  const before = await readout.innerText();
  await hover(0.25, 0.5);
  return before !== await readout.innerText();
});
await check('the readout goes with the pointer', async () => {
  await page.mouse.move(2, 2);
  return readout.isHidden();
});

const home = await ticks();
const drag = async (from, to) => {
  await hover(...from);
  await page.mouse.down();
  await page.mouse.move(...await place(...to), { steps: 5 });
  await page.mouse.up();
};
await check('dragging a rectangle zooms, the button resets', async () => {
  await drag([0.3, 0.2], [0.6, 0.7]);
  const zoomed = await ticks();
  await chart.locator('.reset').click();
  return zoomed !== home && await ticks() === home;
});
await check('dragging sideways zooms x only, a double click resets', async () => {
  const side = () => panel.locator('.tick-y').allTextContents().then(String);
  const before = await side();
  await drag([0.3, 0.5], [0.6, 0.5]);
  const [zoomed, after] = [await ticks(), await side()];
  await page.mouse.dblclick(...await place(0.5, 0.5));
  return zoomed !== home && before === after && await ticks() === home;
});
await check('Ctrl + wheel zooms, the wheel alone does not', async () => {
  await hover(0.5, 0.5);
  const top = await page.evaluate(() => scrollY);
  await page.mouse.wheel(0, 1);
  if (await ticks() !== home) return 'the wheel alone zooms';
  await page.keyboard.down('Control');
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -100);
  await page.keyboard.up('Control');
  const zoomed = await ticks();
  await chart.locator('.reset').click();
  await page.evaluate((y) => scrollTo(0, y), top);
  return zoomed !== home && await ticks() === home;
});
await check('the legend hides a series and shows it again', async () => {
  const button = chart.locator('.legend button').first();
  const shown = () => panel.locator('.series').count();
  const before = await shown();
  await button.click();
  const [during, pressed] = [await shown(), await button.getAttribute('aria-pressed')];
  await button.click();
  const again = await button.getAttribute('aria-pressed');
  return during < before && pressed === 'false' && await shown() === before && again === 'true';
});
await check('arrow keys move the crosshair and are heard', async () => {
  await page.mouse.move(2, 2);
  await panel.focus();
  const seen = [];
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowLeft']) {
    await page.keyboard.press(key);
    const cross = await panel.locator('.cross').getAttribute('d');
    seen.push([cross, await chart.locator('[aria-live]').textContent()]);
  }
  const different = (k) => new Set(seen.map((pair) => pair[k])).size;
  const isSaid = (label) => plain(seen[0][1]).includes(plain(label));
  return different(0) === 3 && different(1) === 3 && labels.every(isSaid);
});
await check('+ and − zoom, Escape resets', async () => {
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  const near = await ticks();
  await page.keyboard.press('-');
  const between = await ticks();
  await page.keyboard.press('Escape');
  return near !== home && between !== near && await ticks() === home;
});
await check('log and linear scale switch', async () => {
  const button = chart.locator('.scale');
  const name = await button.textContent();
  await button.click();
  const [other, renamed] = [await ticks(), await button.textContent()];
  await button.click();
  return other !== home && renamed !== name && await ticks() === home && await button.textContent() === name;
});

const colours = () => page.evaluate((id) => {
  const line = document.getElementById(id).querySelector('.live .line');
  return [getComputedStyle(document.body).backgroundColor, getComputedStyle(line).stroke];
}, id);
await check('dark mode changes the ground and the curves', async () => {
  const light = await colours();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await colours();
  await page.emulateMedia({ colorScheme: 'light' });
  return light.every((colour, i) => colour !== dark[i]) || `${light} ${dark}`;
});
await check('paper shows the static drawings only, black on white', async () => {
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const visible = await page.evaluate(() => [...document.querySelectorAll('figure.chart')].map((figure) => {
    const drawings = [figure.querySelector(':scope > svg'), figure.querySelector('.live')];
    return drawings.map((node) => node.getClientRects().length > 0);
  }));
  const [ground] = await colours();
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
  return visible.every(([still, live]) => still && !live) && ground === 'rgb(255, 255, 255)';
});
await check('verdicts are words', () => page.evaluate(() =>
  [...document.querySelectorAll('td.verdict')].every((cell) => cell.textContent.trim())));
await check('every link inside the page leads somewhere, every id is there once', () => page.evaluate(() => {
  const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  const links = [...document.querySelectorAll('a[href^="#"]')];
  const targets = links.map((link) => link.getAttribute('href').slice(1));
  const lost = targets.filter((target) => !ids.includes(target));
  return !twice.length && !lost.length || [...twice, ...lost].join(', ');
}));

for (const width of [400, 768, 1280]) {
  await check(`nothing sticks out at ${width} px`, async () => {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(150);
    const [content, frame] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    return content <= frame || `${content} in ${frame}`;
  });
}
const phone = await open({ viewport: { width: 400, height: 800 }, hasTouch: true, isMobile: true });
await check('a finger reads, and the readout stays on the page', async () => {
  await phone.page.touchscreen.tap(...await phone.place(0.7, 0.5));
  const box = await phone.readout.boundingBox();
  const fits = await phone.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  return box.x >= 0 && box.x + box.width <= 400 && fits;
});
const bare = await browser.newContext({ javaScriptEnabled: false }).then((context) => context.newPage());
await bare.goto(url);
await check('without script the static drawings are shown', () =>
  bare.locator('figure.chart > svg').first().isVisible());
await check('no errors, no warnings, no requests', () => !noise.length || noise.join(' | '));

await finish();
