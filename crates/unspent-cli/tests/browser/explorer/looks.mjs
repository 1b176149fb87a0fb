// How it looks, and to whom: names for those who listen, dark mode, narrow windows, fingers.
import { check } from '../checks.mjs';
import { PRESET, choose, noise, open, picture, press, ready, slider, text, upper } from './page.mjs';

export async function checkLooks(page) {
  await check('everything that can be used has a name, every id is there once', () => page.evaluate(() => {
    const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
    const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
    const usable = 'input, select, button, [role=region], summary, [role=application]';
    const isNamed = (node) => node.labels?.length || node.getAttribute('aria-label') ||
      node.getAttribute('aria-labelledby') || node.textContent.trim();
    const nameless = [...document.querySelectorAll(usable)].filter((node) => !isNamed(node));
    const named = (node) => ['aria-describedby', 'aria-labelledby'].flatMap((name) =>
      (node.getAttribute(name) || '').split(' ').filter(Boolean));
    const lost = [...document.querySelectorAll('[aria-describedby], [aria-labelledby]')].filter((node) =>
      named(node).some((id) => !document.getElementById(id)));
    const bad = [...twice, ...nameless.map((node) => node.outerHTML), ...lost.map((node) => node.id)];
    return !bad.length || bad.join(', ');
  }));
  await check('dark mode changes the ground and the curves', async () => {
    const colours = () => page.evaluate(() => [getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.querySelector('#figure-curve .line')).stroke]);
    const light = await colours();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await colours();
    await page.emulateMedia({ colorScheme: 'light' });
    return light.every((colour, i) => colour !== dark[i]) || `${light} ${dark}`;
  });
  await check('all levels of a census are on the first screen of a laptop', async () => {
    const laptop = await open({ viewport: { width: 1280, height: 900 } });
    const feet = await laptop.locator('[data-level] > .control').evaluateAll((all) =>
      all.map((node) => node.getBoundingClientRect().bottom));
    const height = () => laptop.locator('div.bar').evaluate((bar) => bar.offsetHeight);
    const before = await height();
    await slider(laptop, 'State').focus();
    await press(laptop, 'ArrowLeft', 12);
    const after = await height();
    await laptop.context().close();
    return feet.length === 6 && Math.max(...feet) <= 900 && before === after || `${feet} ${before} ${after}`;
  });
  await check('noise is on one axis at all levels, and ε is marked at its δ', async () => {
    await choose(page, PRESET);
    const axes = await page.locator('#figure-noise .panel').evaluateAll((all) => all.map((panel) =>
      [...panel.querySelectorAll('.tick-x')].map((tick) => tick.textContent).join(' ')));
    const mark = await text(page, '#figure-curve .value');
    const isAlike = axes.length === 6 && new Set(axes).size === 1;
    return isAlike && mark === `ε ≤ ${await text(page, '#epsilon')}` || `${axes.join(', ')}; ${mark}`;
  });
  for (const width of [400, 768, 1024, 1280]) {
    await check(`nothing sticks out at ${width} px`, async () => {
      await page.setViewportSize({ width, height: 1000 });
      await page.waitForTimeout(200);
      const unfold = (isOpen) => page.evaluate((value) => {
        for (const node of document.querySelectorAll('details')) node.open = value;
      }, isOpen);
      await unfold(true);
      const [content, frame] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      await unfold(false);
      return content <= frame || `${content} in ${frame}`;
    });
  }
  await check('a phone: a finger moves a share', async () => {
    const phone = await open({ viewport: { width: 400, height: 900 }, hasTouch: true, isMobile: true });
    const before = await upper(phone);
    await slider(phone, 'State').scrollIntoViewIfNeeded();
    const box = await slider(phone, 'State').boundingBox();
    await phone.touchscreen.tap(box.x + 0.4 * box.width, box.y + box.height / 2);
    const cell = '#certificate tr[data-label=total] [data-column^=upper]';
    const isOther = ([selector, was]) => document.querySelector(selector).textContent !== was;
    await phone.waitForFunction(isOther, [cell, before]);
    await ready(phone);
    await picture(phone, 'explorer-narrow.png', '#budget-title');
    await picture(phone, 'explorer-narrow-results.png', '#certificate-title');
    await phone.context().close();
    return true;
  });
  await check('pictures', async () => {
    for (const [name, colorScheme] of [['explorer.png', 'light'], ['explorer-dark.png', 'dark']]) {
      const shot = await open({ colorScheme });
      await slider(shot, 'State').focus();
      await press(shot, 'ArrowLeft', 12);
      // Down to the end of the curves.
      const height = await shot.evaluate(() =>
        Math.ceil(document.querySelector('.pair').getBoundingClientRect().bottom + scrollY));
      await shot.setViewportSize({ width: 1280, height });
      await picture(shot, name, 'header');
      await shot.setViewportSize({ width: 1280, height: 1000 });
      await picture(shot, name.replace('.', '-noise.'), '#spend-title');
      await shot.context().close();
    }
    return true;
  });
  await check('no errors, no warnings, no request to anywhere else', () =>
    !noise.length || noise.join(' | '));
}
