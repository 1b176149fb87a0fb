// Links that restore a state, and those that do not.
import { browser, check } from '../checks.mjs';
import { seen } from './editing.mjs';
import {
  PRESET, UNITS, address, choose, field, linkTo, look, open, own, press, provoking, ready, served, shares,
  slider, text, type, upper,
} from './page.mjs';

const noticeOf = (page) => text(page, '#notice');

export async function checkLinks(page) {
  await check('a link restores start and now', async () => {
    await choose(page, UNITS);
    await slider(page, 'State').focus();
    await press(page, 'ArrowLeft', 10);
    await look(page, { label: 'County' });
    await page.locator('#copy-link').click();
    await page.waitForFunction(() => document.querySelector('#notice').textContent.includes('copied'));
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await open({}, new URL(link).hash);
    const of = async (tab) => JSON.stringify([await upper(tab), await own(tab, 'total', 'start'),
      await shares(tab), await text(tab, '#reading'), await tab.locator('#preset').inputValue()]);
    const [here, there] = [await of(page), await of(other)];
    await other.locator('#reset').click();
    await ready(other);
    const first = await upper(other);
    await other.context().close();
    return here === there && first === await own(page, 'total', 'start') || `${here} ${there}`;
  });
  const { draft: official } = await served(`/api/presets/${PRESET}`);
  await check('a link restores what was calibrated with a level left out, and its production', async () => {
    await choose(page, PRESET);
    await type(page, field(page, 'County'), '0');
    await page.locator('#calibrate').click();
    await page.waitForSelector('#spent tr[data-label=total]');
    await ready(page);
    await page.waitForTimeout(500);
    const other = await open({}, new URL(page.url()).hash);
    const of = async (tab) => {
      const ids = ['#paths', '#assumptions', '#missing', '#verdict'];
      const texts = await Promise.all(ids.map((id) => text(tab, id)));
      return JSON.stringify([await upper(tab), await shares(tab), ...texts]);
    };
    const [here, there, said] = [await of(page), await of(other), await noticeOf(other)];
    await other.context().close();
    return here === there && here.includes('pairs of paths') && !said.includes('damaged') ||
      `${here} ${there} ${said}`;
  });
  await check('a link that is not the preset it says it is does not pass for it', async () => {
    const forged = { ...official, rho: '1/100' };
    const state = { version: 1, origin: `preset:${PRESET}`, start: forged, now: forged };
    const other = await open({}, linkTo(state));
    const found = [await other.locator('#preset').inputValue(), await text(other, '#preset option:checked'),
      await text(other, '#origin')];
    await other.waitForFunction(() => location.hash.startsWith('#state='));
    await other.context().close();
    const [preset, shown, source] = found;
    return preset === '' && shown === 'from a link' && source.startsWith('Source, as the link has it') ||
      found.join(' | ');
  });
  await check('a link with many long fractions does not stop the page', () => provoking(async () => {
    const [first] = official.levels;
    const level = (i) => ({
      ...first,
      name: `level ${i}`,
      share: `1/${10n ** 240n + 2n * BigInt(i) + 1n}`,
      shares: [{ query: 'total', share: '1' }],
    });
    const long = { ...official, levels: [...Array(300).keys()].map(level) };
    const other = await browser.newPage();
    const link = linkTo({ version: 1, origin: 'file:long', start: long, now: long });
    await other.goto(new URL(link, address).href);
    await other.waitForSelector('[data-level="level 299"]');
    const title = await other.locator('#level-sum .renormalise').getAttribute('title');
    await other.close();
    return title.includes('too long');
  }));
  await check('the way past the controls keeps what is set', async () => {
    const before = await shares(page);
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.startsWith('#state='));
    const focused = await page.evaluate(() => document.activeElement.id);
    return focused === 'certificate-title' && await shares(page) === before;
  });
  await damaged(official);
}

async function damaged(official) {
  const saved = (start, now = start) => linkTo({ version: 1, origin: `preset:${PRESET}`, start, now });
  const links = {
    'no stream': '#state=AAAA',
    'no base64': '#state=not!base64',
    nothing: '#state=',
    'no such preset': '#preset=nothing',
    'another thing': '#state=q1YqSy0qzszPU7Iy0FEqLkksKlGyqlaqBQA',
    'another frame': saved(official, { ...official, name: 'another' }),
    // Of a page that knew nothing of paths: taken as it is, it would promise too much.
    'without its production': saved({ ...official, production: undefined }),
    'a number too long': saved({ ...official, rho: '1'.repeat(257) }),
    'too large': linkTo(' '.repeat(3e6)),
  };
  for (const [what, hash] of Object.entries(links)) {
    await check(`a damaged link says so: ${what}`, () => provoking(async () => {
      const other = await open({}, hash);
      const [said, shown] = [await noticeOf(other), await upper(other)];
      await other.context().close();
      return said.includes('damaged') && shown === seen.start || `${said} ${shown}`;
    }));
  }
}
