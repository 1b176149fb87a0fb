// Uses the explorer as a person would, in Chromium, and holds what it shows against the command line: node
// explorer.mjs, with
//   URL       where the page is served, like http://127.0.0.1:8020/
//   UNSPENT   the program
//   EXAMPLES  the directory of blocks.toml
//   OUT       the directory for pictures of the page
//   CHROMIUM  the browser, unless it is /usr/bin/chromium
import { rmSync } from 'node:fs';
import { finish } from './checks.mjs';
import { checkEditing } from './explorer/editing.mjs';
import { checkFiles } from './explorer/files.mjs';
import { checkLinks } from './explorer/links.mjs';
import { checkLooks } from './explorer/looks.mjs';
import { open, scratch } from './explorer/page.mjs';
import { checkParts } from './explorer/parts.mjs';
import { checkPresets } from './explorer/presets.mjs';
import { checkSpending } from './explorer/spending.mjs';

const page = await open();
await checkPresets(page);
await checkEditing(page);
await checkParts(page);
await checkSpending(page);
await checkFiles(page);
await checkLinks(page);
await checkLooks(page);
rmSync(scratch, { recursive: true, force: true });
await finish();
