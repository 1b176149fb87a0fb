// What the scripts share: a browser that asks nobody anything, and checks that are counted.
import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];
const executablePath = process.env.CHROMIUM || '/usr/bin/chromium';
export const browser = await chromium.launch({ executablePath, args: FLAGS });

let failed = 0;

/** Says whether `test` gives true; anything else is what is wrong. */
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

/** Ends the script, in failure if a check failed. */
export async function finish() {
  await browser.close();
  console.log(failed ? `${failed} failed` : 'all passed');
  process.exit(failed ? 1 : 0);
}
