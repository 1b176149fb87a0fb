// The pages that stand alone, opened from a disk in Chromium: what they cost, that they ask nobody anything,
// that nothing stops them, and that the calculator says what the command says. node alone.mjs, with
//   URL         of explorer.html, file:///…
//   CALCULATOR  of calculator.html
//   API         where a server is, for presets
//   UNSPENT, EXAMPLES, OUT, CHROMIUM as for explorer.mjs
// Times are printed, and nothing is asserted of them.
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { browser, check, finish } from './checks.mjs';
import { checkCalculator } from './alone/calculator.mjs';
import { checkPathological } from './alone/pathological.mjs';
import { checkSpeed } from './alone/speed.mjs';
import { address, noise, open, ready } from './explorer/page.mjs';

const { CALCULATOR } = process.env;
for (const url of [address, CALCULATOR]) {
  const { size } = statSync(fileURLToPath(url));
  console.log(`     ${url.split('/').at(-1)}: ${size} bytes`);
  await check('it is smaller than 2 MB', () => size <= 2e6 || String(size));
}
await check('there is nobody whom the pages could ask', async () => {
  for (const url of [address, CALCULATOR]) {
    const page = await browser.newPage();
    await page.goto(url);
    const reached = await page.evaluate(async () => {
      const tries = [
        () => fetch('https://192.0.2.1/'), () => fetch('data:,text'),
        () => new Promise((resolve, reject) => {
          Object.assign(new Image(), { onload: resolve, onerror: reject, src: 'https://192.0.2.1/x.png' });
        }),
      ];
      const results = await Promise.allSettled(tries.map(async (attempt) => attempt()));
      return results.map(({ status }) => status).join();
    });
    await page.close();
    if (reached !== 'rejected,rejected,rejected') return reached;
  }
  return true;
});
const page = await open();
await checkSpeed(page);
await checkPathological(page);
await checkCalculator(CALCULATOR);
await ready(page);
await check('nothing was requested, and nothing said on the console', () =>
  !noise.length || noise.join(' | '));
await finish();
