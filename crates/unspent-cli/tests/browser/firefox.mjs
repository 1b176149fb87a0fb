// The pages that stand alone in Firefox, from a disk: node firefox.mjs EXPLORER CALCULATOR, with
//   FIREFOX  the browser, unless it is /usr/bin/firefox-esr
//   UNSPENT  the program to hold them against
//   EXAMPLES the directory of blocks.toml
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const [explorer, calculator] = process.argv.slice(2).map((path) => pathToFileURL(path).href);
const { FIREFOX = '/usr/bin/firefox-esr', UNSPENT, EXAMPLES } = process.env;
const certificate = (subject) =>
  JSON.parse(execFileSync(UNSPENT, ['certificate', subject, '--json'], { encoding: 'utf8', maxBuffer: 1e8 }));
const browser = await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true });
console.log(`     ${await browser.version()}`);

let failed = 0;
async function check(name, test) {
  let trouble = '';
  try {
    const result = await test();
    if (result !== true) trouble = String(result || 'does not hold');
  } catch (error) {
    trouble = error.message.split('\n')[0];
  }
  if (trouble) failed += 1;
  console.log(`${trouble ? 'FAIL' : 'ok  '} ${name}${trouble ? `: ${trouble}` : ''}`);
}

const noise = [];
async function open(url) {
  const page = await browser.newPage();
  page.setDefaultTimeout(180000);
  page.on('console', (message) => noise.push(message.text()));
  page.on('pageerror', (error) => noise.push(String(error)));
  page.on('request', (request) => {
    const [address] = request.url().split('#');
    if (address !== url.split('#')[0] && !/^(data|blob):/.test(address)) noise.push(`request ${address}`);
  });
  await page.goto(url);
  return page;
}
const ready = (page) => page.waitForSelector('#results[data-state=ready]');
const UPPER = '#certificate tr[data-label=total] [data-column^=upper]';
const upper = (page) => page.$eval(UPPER, (node) => node.textContent);
/** Whether what is shown is the guarantee, rounded up. */
const isUp = (shown, exact) => +shown >= +exact && +shown - +exact < 1e-3;

const start = performance.now();
const page = await open(explorer);
await check('the explorer opens with an answer, as the command has it', async () => {
  await page.waitForFunction(() => /\d/.test(document.querySelector('#epsilon').textContent));
  console.log(`     to the first ε: ${Math.round(performance.now() - start)} ms`);
  await ready(page);
  const [line] = certificate('pl94-persons-us-2020').lines;
  return isUp(await upper(page), line.tight.upper) || await upper(page);
});
await check('a preset, its slider, a step back', async () => {
  await page.select('#preset', 'pl94-units-us-2020');
  await page.waitForFunction(() => document.querySelector('#subject').textContent.includes('units'));
  await ready(page);
  const before = await upper(page);
  const [line] = certificate('pl94-units-us-2020').lines;
  await page.focus('[data-level="State"] > .control input[type=range]');
  for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(([cell, was]) => document.querySelector(cell).textContent !== was, {},
    [UPPER, before]);
  await ready(page);
  const after = await upper(page);
  await page.click('#undo');
  await ready(page);
  return isUp(before, line.tight.upper) && +after < +before && await upper(page) === before ||
    `${before} ${after}`;
});
await check('a file, removable noise, a link', async () => {
  const file = join(EXAMPLES, 'blocks.toml');
  const input = await page.$('#file');
  await input.uploadFile(file);
  await page.waitForSelector('[data-level="Block group"]');
  await ready(page);
  const [line] = certificate(file).lines;
  const shown = await upper(page);
  await page.click('#calibrate');
  await page.waitForSelector('#spent tr[data-label=total]');
  await ready(page);
  await page.waitForFunction(() => location.hash.startsWith('#state='));
  await new Promise((after) => { setTimeout(after, 600); });
  const other = await open(page.url());
  await ready(other);
  const [here, there] = [await upper(page), await upper(other)];
  await other.close();
  return isUp(shown, line.tight.upper) && here === there || `${shown} ${here} ${there}`;
});
await check('the figures are drawn', () => page.evaluate(() =>
  [...document.querySelectorAll('figure.chart')].every((figure) => figure.querySelector('svg .series'))));
await check('the calculator', async () => {
  const other = await open(calculator);
  await other.waitForSelector('#result[data-state=ready]');
  const answer = await other.$eval('#answer', (node) => node.textContent);
  await other.close();
  return /^ε ≤ \d+\.\d{4} at δ = 1e-10$/.test(answer) || answer;
});
await check('nothing was requested, and nothing said on the console', () =>
  !noise.length || noise.join(' | '));
await browser.close();
process.exit(failed ? 1 : 0);
