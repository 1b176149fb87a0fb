// What the scripts share: a browser that asks nobody anything, and checks that are counted.
import { chromium } from 'playwright-core';

const flags = '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';
export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: flags.split(' ') });

/** How many checks failed. */
export let failed = 0;

export async function check(name, test) {
  let trouble;
  try {
    const result = await test();
    trouble = result === true ? '' : String(result || 'does not hold');
  } catch (error) {
    trouble = error.message.split('\n').slice(0, 3).join(' ');
  }
  if (trouble) failed += 1;
  console.log(`${trouble ? 'FAIL' : 'ok  '} ${name}${trouble ? ': ' + trouble : ''}`);
}
