// Allocations that nobody can account for while a page waits: it stays alive, says so, and has a way back.
import { check } from '../checks.mjs';
import { UNITS, choose, drop, equal, linkTo, open, ready, served, text, upper } from '../explorer/page.mjs';

/** So many levels whose shares are fractions of 120 digits, and of many queries. */
function pathological(count, queries = ['total']) {
  const share = (i) => `1/${10n ** 119n + 2n * BigInt(i) + 1n}`;
  const each = (line) => queries.map(line).join('');
  const levels = Array.from({ length: count }, (_, i) => `[[levels]]\nname = "level ${i}"\n` +
    `share = "${share(i)}"\n[levels.shares]\n${each((name) => `"${name}" = "1/${queries.length}"\n`)}`);
  return `name = "too much"\nneighbours = "bounded"\ndelta = "1e-10"\nrho = "1"\n[queries]\n` +
    `${each((name) => `"${name}" = []\n`)}${levels.join('')}`;
}

/** While `act` runs: the longest time for which the page did nothing else, and how often it could. */
async function pauses(page, act) {
  await page.evaluate(() => {
    const found = { longest: 0, count: 0, last: performance.now() };
    globalThis.pauses = found;
    found.timer = setInterval(() => {
      const now = performance.now();
      found.longest = Math.max(found.longest, now - found.last);
      Object.assign(found, { count: found.count + 1, last: now });
    }, 4);
  });
  const result = await act();
  const { longest, count } = await page.evaluate(() => {
    clearInterval(globalThis.pauses.timer);
    return globalThis.pauses;
  });
  return { result, longest, count };
}

/** What the page says is wrong, in any of its places. */
const said = (page) => page.waitForFunction(() => {
  const places = ['#file-trouble', '#draft-trouble', '#notice', '#stale'];
  const texts = places.map((id) => document.querySelector(id)).filter((node) => !node.hidden)
    .map((node) => node.textContent).filter(Boolean);
  return texts.some((found) => /too|longer|most|memory/.test(found)) && texts.join(' | ');
}).then((handle) => handle.jsonValue());

export async function checkPathological(page) {
  for (const [what, file] of [
    ['1,000 levels with fractions of 120 digits', pathological(1000)],
    ['300 levels with fractions of 120 digits', pathological(300)],
    ['200 levels with 20 queries each', pathological(60, Array.from({ length: 20 }, (_, i) => `q${i}`))],
  ]) {
    await check(`${what}: the page lives, says that it is too much, and goes back`, async () => {
      await choose(page, UNITS);
      const before = await upper(page);
      const { result, longest, count } = await pauses(page, async () => {
        await drop(page, 'too-much.toml', file);
        return said(page);
      });
      console.log(`     ${what}: ${result.slice(0, 160)}`);
      console.log(`     the page's longest pause: ${longest.toFixed(0)} ms, in ${count} looks`);
      const isLoaded = (await text(page, '#preset option:checked')) === 'from too-much.toml';
      if (isLoaded) await page.locator('#undo').click();
      await ready(page);
      return equal(await upper(page), before);
    });
  }
  await check('a link with a thousand such levels does not stop the page', async () => {
    const { draft } = await served(`/api/presets/${UNITS}`);
    const level = (i) => ({
      ...draft.levels[0], name: `level ${i}`, share: `1/${10n ** 119n + 2n * BigInt(i) + 1n}`,
      shares: [{ query: draft.queries[0].name, share: '1' }],
    });
    const levels = Array.from({ length: 1000 }, (_, i) => level(i));
    const long = { ...draft, production: undefined, levels };
    const link = linkTo({ version: 1, origin: 'file:long', start: long, now: long });
    const other = await open({}, `#preset=${UNITS}`);
    const { result, longest } = await pauses(other, async () => {
      await other.evaluate((hash) => { location.hash = hash; }, link);
      return said(other);
    });
    console.log(`     a link: ${result.slice(0, 160)}; longest pause ${longest.toFixed(0)} ms`);
    await other.context().close();
    return true;
  });
}
