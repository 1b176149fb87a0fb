// How long the page takes to open, and to follow a slider.
import { browser, check } from '../checks.mjs';
import { address, choose } from '../explorer/page.mjs';

const MOVES = 20;
/** On a busy machine fewer, so that those of one preset take no longer than so many milliseconds. */
const MOST = 4000;

/** Moves a share and waits for its ε, several times; milliseconds, in order. */
const moves = (page) => page.evaluate(async ([count, most]) => {
  const slider = document.querySelector('[data-level] > .control input[type=range]');
  const epsilon = document.querySelector('#certificate tr[data-label=total] [data-column^=upper]')
    .closest('table');
  const times = [];
  const first = +slider.value;
  const begun = performance.now();
  for (let i = 1; i <= count && performance.now() - begun < most; i++) {
    const answered = new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        observer.disconnect();
        resolve();
      });
      observer.observe(epsilon, { childList: true, subtree: true, characterData: true });
    });
    const start = performance.now();
    slider.value = first - i;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await answered;
    times.push(performance.now() - start);
    await new Promise((after) => { setTimeout(after, 30); });
  }
  return times.sort((a, b) => a - b);
}, [MOVES, MOST]);

export async function checkSpeed(page) {
  await check('it opens with an answer', async () => {
    const times = [];
    for (let i = 0; i < 5; i++) {
      const context = await browser.newContext();
      const fresh = await context.newPage();
      const start = performance.now();
      await fresh.goto(address);
      await fresh.waitForFunction(() => /\d/.test(document.querySelector('#epsilon').textContent));
      times.push(performance.now() - start);
      await context.close();
    }
    console.log(`     to the first ε, ms: ${times.map(Math.round).join(' ')}`);
    return true;
  });
  const presets = await page.locator('#preset option:not([hidden])')
    .evaluateAll((all) => all.map(({ value }) => value));
  for (const preset of presets) {
    await check(`${preset} follows a slider`, async () => {
      await choose(page, preset);
      const times = await moves(page);
      const at = (part) => times[Math.floor(part * (times.length - 1))].toFixed(1);
      console.log(`     ${preset}: ms to an ε, median ${at(0.5)}, largest ${at(1)}, of ${times.length}`);
      return true;
    });
  }
}
