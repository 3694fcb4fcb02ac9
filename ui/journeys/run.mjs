// `node journeys/run.mjs BINARY CHROMIUM [JOURNEY…]`: journeys through the page of a real server, in a real browser.
import { resolve } from 'node:path';
import { browser as launch, Stage } from './stage.mjs';
import { journeys } from './journeys.mjs';

const [program, chromium, ...only] = process.argv.slice(2);
const binary = program && resolve(program);
if (!binary || !chromium) {
  console.error('usage: node journeys/run.mjs BINARY CHROMIUM [JOURNEY…]');
  process.exit(2);
}
const browser = await launch(chromium);
let failed = 0;
for (const { name, run, serve = [], prepare } of journeys) {
  if (only.length && !only.some((it) => name.startsWith(it))) continue;
  const stage = await Stage.open(binary, browser, serve, prepare);
  const began = Date.now();
  try {
    await run(stage);
    if (stage.faults.length) throw new Error(stage.faults.join('\n'));
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${error.stack ?? error}`);
    for (const it of stage.faults) console.log(`        ${it}`);
    for (const page of stage.pages) {
      console.log(`        at ${page.url()}`);
      console.log((await page.locator('main').innerText().catch(() => '')).slice(0, 1500));
    }
  } finally {
    await stage.close();
  }
}
await browser.close();
console.log(`${failed} failed`);
process.exit(failed ? 1 : 0);
