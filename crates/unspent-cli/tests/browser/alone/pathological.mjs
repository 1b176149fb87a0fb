// Allocations that nobody can account for while a page waits: it stays alive, says so, and has a way back.
import { check } from '../checks.mjs';
import { UNITS, choose, drop, equal, linkTo, open, ready, served, text, upper } from '../explorer/page.mjs';

/** A fraction near `about`; no two have a factor in common. `half` is half its digits. */
const fraction = (i, about, half) => {
  const whole = 10n ** BigInt(half - 1);
  return `${whole * BigInt(about)}/${whole + 2n * BigInt(i) + 1n}`;
};

/** So many levels whose variances are such fractions, and of so many queries. */
function pathological(count, half, queries) {
  const names = Array.from({ length: queries }, (_, i) => `q${i}`);
  const sigma2 = (level) => names.map((name, i) => (
    `${name} = "${fraction(level * queries + i, 900, half)}"\n`));
  const levels = Array.from({ length: count }, (_, level) =>
    `[[levels]]\nname = "level ${level}"\n[levels.sigma2]\n${sigma2(level).join('')}`);
  return `name = "too much"\nneighbours = "bounded"\ndelta = "1e-10"\n[queries]\n` +
    `${names.map((name) => `${name} = []\n`).join('')}${levels.join('')}`;
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

/** What the page says is wrong, in any of its places; or that it is not, and all is answered. */
const said = (page, subject) => page.waitForFunction((name) => {
  const places = ['#file-trouble', '#draft-trouble', '#notice', '#stale'];
  const texts = places.map((id) => document.querySelector(id)).filter((node) => !node.hidden)
    .map((node) => node.textContent).filter(Boolean);
  const isAnswered = document.querySelector('#results').dataset.state === 'ready' &&
    document.querySelector('#preset option:checked').textContent === name;
  return isAnswered ? 'all is answered'
    : texts.some((found) => /too|longer|most|memory/.test(found)) && texts.join(' | ');
}, subject).then((handle) => handle.jsonValue());

export async function checkPathological(page) {
  for (const [what, file] of [
    ['1,000 levels with fractions of 120 digits', pathological(1000, 59, 1)],
    ['300 levels with fractions of 240 digits', pathological(300, 119, 1)],
    ['100 levels of 5 queries with fractions of 240 digits', pathological(100, 119, 5)],
  ]) {
    await check(`${what}: the page lives, says if it is too much, and goes back`, async () => {
      await choose(page, UNITS);
      const before = await upper(page);
      const { result, longest, count } = await pauses(page, async () => {
        await drop(page, 'too-much.toml', file);
        return said(page, 'from too-much.toml');
      });
      console.log(`     ${what}: ${result.slice(0, 260).replaceAll('\n', ' ')}`);
      console.log(`     the page's longest pause: ${longest.toFixed(0)} ms, in ${count} looks`);
      // Its numbers are fine: what is said is of all of it.
      if (/too-much.toml:\d/.test(result)) return result;
      const isLoaded = (await text(page, '#preset option:checked')) === 'from too-much.toml';
      if (isLoaded) await page.locator('#undo').click();
      await ready(page);
      return equal(await upper(page), before);
    });
  }
  await check('a link with a thousand such levels does not stop the page', async () => {
    const { draft } = await served(`/api/presets/${UNITS}`);
    const level = (i) => ({
      ...draft.levels[0], name: `level ${i}`, share: fraction(i, 1, 119),
      shares: [{ query: draft.queries[0].name, share: '1' }],
    });
    const levels = Array.from({ length: 1000 }, (_, i) => level(i));
    const { keep, paths, ...production } = draft.production;
    if (!keep && !paths) return `no unit of ${UNITS} is bypassed`;
    const long = { ...draft, production, rho: '1', levels };
    const link = linkTo({ version: 1, origin: 'file:long', start: long, now: long });
    const other = await open({}, `#preset=${UNITS}`);
    const { result, longest } = await pauses(other, async () => {
      await other.evaluate((hash) => { location.hash = hash; }, link);
      return said(other, 'from long');
    });
    console.log(`     a link: ${result.slice(0, 160)}; longest pause ${longest.toFixed(0)} ms`);
    await other.context().close();
    return true;
  });
}
