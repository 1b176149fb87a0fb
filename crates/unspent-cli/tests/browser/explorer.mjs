// Uses the explorer as a person would, in Chromium, and holds what it shows against the command line: node
// explorer.mjs, with
//   URL       where the page is, like http://127.0.0.1:8020/ or file:///…/explorer.html
//   API       where the server is, unless it serves the page
//   UNSPENT   the program
//   EXAMPLES  the directory of blocks.toml
//   OUT       the directory for pictures of the page
//   PART      `presets` or `use`: what is checked, so that the two can run side by side
//   CHROMIUM  the browser, unless it is /usr/bin/chromium
import { rmSync } from 'node:fs';
import { finish } from './checks.mjs';
import { checkAlso } from './explorer/also.mjs';
import { checkEditing } from './explorer/editing.mjs';
import { checkFiles } from './explorer/files.mjs';
import { checkLinks } from './explorer/links.mjs';
import { checkLooks } from './explorer/looks.mjs';
import { checkNeeds } from './explorer/needs.mjs';
import { open, scratch } from './explorer/page.mjs';
import { checkParts } from './explorer/parts.mjs';
import { checkPresets } from './explorer/presets.mjs';
import { checkSpending } from './explorer/spending.mjs';

const PARTS = {
  presets: [checkPresets],
  use: [
    checkEditing, checkParts, checkSpending, checkFiles, checkAlso, checkLinks, checkNeeds, checkLooks,
  ],
};
const page = await open();
for (const checks of PARTS[process.env.PART]) await checks(page);
rmSync(scratch, { recursive: true, force: true });
await finish();
