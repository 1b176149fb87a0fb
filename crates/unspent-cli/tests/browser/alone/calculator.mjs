// The calculator, beside the command.
import { browser, check } from '../checks.mjs';
import { noise, rounded, run } from '../explorer/page.mjs';

const account = (...words) => JSON.parse(run('account', ...words, '--json'));

async function calculator(url) {
  const page = await browser.newPage();
  page.on('console', (message) => noise.push(message.text()));
  page.on('pageerror', (error) => noise.push(String(error)));
  page.on('request', (request) => {
    if (request.url() !== url && !/^(data|blob):/.test(request.url())) noise.push(`request ${request.url()}`);
  });
  page.setDefaultTimeout(60000);
  await page.goto(url);
  return page;
}

const settled = (page, state = 'ready') =>
  page.waitForSelector(`#result[data-state=${state}]`, { state: 'attached' });

async function set(page, kind, sought, fields, state) {
  await page.locator('#kind').selectOption(kind);
  await page.locator(`input[name=sought][value=${sought}]`).check();
  for (const [name, value] of Object.entries(fields)) await page.locator(`#${name}`).fill(value);
  await page.waitForTimeout(300);
  await settled(page, state);
  return page.locator('#answer').textContent();
}

const KINDS = {
  discrete_gaussian: ['discrete-gaussian', 'sigma', { noise: '5/2', count: '10', shift: '1' }],
  gaussian: ['gaussian', 'sigma', { noise: '12.5', count: '100', shift: '3' }],
  laplace: ['laplace', 'b', { noise: '20', count: '7', shift: '2' }],
  subsampled_gaussian: ['subsampled-gaussian', 'sigma', { noise: '1.1', count: '1000', q: '1/250' }],
};

export async function checkCalculator(url) {
  const page = await calculator(url);
  await check('the calculator opens with an answer', async () => {
    await settled(page);
    const answer = await page.locator('#answer').textContent();
    return /^ε ≤ \d/.test(answer) || answer;
  });
  for (const [kind, [name, parameter, fields]] of Object.entries(KINDS)) {
    const rest = Object.entries(fields).filter(([field]) => field !== 'noise')
      .map(([field, value]) => `${field}=${value}`).join();
    const noisy = `${name}:${parameter}=${fields.noise},${rest}`;
    await check(`${name}: ε, δ and the noise, as the command has them`, async () => {
      const epsilon = await set(page, kind, 'epsilon', { ...fields, delta: '1e-8' });
      const [point] = account('--mechanism', noisy, '--delta', '1e-8').points;
      const [, shown] = /ε ≤ ([\d.]+)/.exec(epsilon);
      if (shown !== rounded(point.epsilon.upper, shown, true)) return `${epsilon} ${point.epsilon.upper}`;
      const delta = await set(page, kind, 'delta', { epsilon: '0.75' });
      const [back] = account('--mechanism', noisy, '--epsilon', '0.75').points;
      const exact = await page.locator('#notes').textContent();
      if (!exact.includes(back.delta.upper) || !delta.startsWith('δ ≤ ')) return `${delta} ${exact}`;
      const least = await set(page, kind, 'noise', { epsilon: '2', delta: '1e-6' });
      const open = `${name}:${parameter}=?,${rest}`;
      const found = account('--mechanism', open, '--epsilon', '2', '--delta', '1e-6');
      return least.endsWith(` = ${found.value}`) || `${least} ${found.value}`;
    });
  }
  await check('what is wrong is said at its field, and by the program', async () => {
    await set(page, 'gaussian', 'epsilon', { noise: 'wide', delta: '1e-8' }, 'trouble');
    const here = await page.locator('#noise-wrong').textContent();
    await set(page, 'gaussian', 'epsilon', { noise: '10', delta: '2' }, 'trouble');
    const there = await page.locator('#delta-wrong').textContent();
    const below = await page.locator('#trouble').textContent();
    await set(page, 'gaussian', 'epsilon', { delta: '1e-8' });
    const isWell = await page.locator('#trouble').isHidden() &&
      await page.locator('#delta-wrong').textContent() === '';
    return here.startsWith('Not a number') && there.startsWith('`2` is not a number strictly between') &&
      below.includes('the answer to what was set before') && isWell || `${here} | ${there} | ${below}`;
  });
  await check('a δ that no double can say is said', async () => {
    const fields = { noise: '10', count: '10', shift: '1', epsilon: '1000000' };
    const answer = await set(page, 'gaussian', 'delta', fields);
    return /^δ ≤ 1\.19\d*e-2171472192383/.test(answer) || answer;
  });
  await page.close();
}
