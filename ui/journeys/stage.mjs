// A server of its own for each journey, a browser for all of them, and what must hold at the end of each.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

/** How long anything may take before a journey gives up: a machine that stands still fails nothing. */
export const PATIENCE = Number(process.env.PATIENCE_MS ?? 120_000);
// The policy of the page lets no script in; what a browser is driven with may come all the same.
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const root = join(import.meta.dirname, '../..');

export async function browser(path) {
  return chromium.launch({
    executablePath: path,
    timeout: PATIENCE,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
  });
}

export class Stage {
  static async open(binary, browser, more = [], prepare = () => {}) {
    const stage = new Stage();
    stage.browser = browser;
    stage.pages = [];
    stage.faults = [];
    stage.dir = mkdtempSync(join(tmpdir(), 'travertine-page-'));
    stage.binary = binary;
    stage.data = join(stage.dir, 'store');
    prepare(stage.dir, binary);
    const any = '127.0.0.1:0';
    stage.server = spawn(binary, ['serve', '--data', stage.data, '--listen', any, '--grpc-listen', 'off', '--manage', 'off', ...more], { cwd: stage.dir, stdio: ['ignore', 'ignore', 'pipe'] });
    const lines = createInterface({ input: stage.server.stderr });
    stage.said = [];
    stage.base = await new Promise((found, failed) => {
      const timer = setTimeout(() => failed(new Error(`the server does not begin:\n${stage.said.join('\n')}`)), PATIENCE);
      lines.on('line', (line) => {
        stage.said.push(line);
        const at = /REST.*?(http:\/\/[^/\s]+)/.exec(line);
        if (at) found(clearTimeout(timer) ?? at[1]);
      });
      stage.server.on('exit', (code) => failed(new Error(`the server ended with ${code}:\n${stage.said.join('\n')}`)));
    });
    return stage;
  }

  /** A page of a browser of its own: nothing is kept from others. */
  async page(path = '', options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1360, height: 860 }, reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    page.requests = [];
    page.on('request', (it) => page.requests.push(it.url()));
    page.on('console', (it) => {
      // A browser says of each refusal that there was one; what the page makes of it is looked at elsewhere.
      if (it.type() === 'error' && !/Failed to load resource/.test(it.text())) this.faults.push(it.text());
    });
    page.on('pageerror', (it) => this.faults.push(String(it)));
    page.on('dialog', (it) => {
      this.faults.push(`a dialog: ${it.message()}`);
      void it.dismiss();
    });
    this.pages.push(page);
    await page.goto(`${this.base}/ui/${path}`);
    await this.ready(page);
    return page;
  }
  async ready(page) {
    await page.waitForSelector('html[data-ready]', { state: 'attached', timeout: PATIENCE });
  }

  /** Asks the API. */
  async ask(method, path, body) {
    const response = await fetch(`${this.base}/api/1/${path}`, {
      method,
      headers: { ...(this.authorization ? { authorization: this.authorization } : {}), ...(body instanceof FormData || body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined || body instanceof FormData ? body : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
  }
  async deploy(...files) {
    const form = new FormData();
    for (const { name, text } of files) form.append('files', new File([text], name));
    return this.ask('POST', 'deployments', form);
  }

  /** Nothing that axe finds may be serious. */
  async axe(page, where) {
    await page.evaluate(AXE);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    const serious = found.violations.filter((it) => it.impact === 'serious' || it.impact === 'critical');
    for (const it of serious) {
      this.faults.push(`axe, ${where}: ${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
    }
  }

  async close() {
    for (const page of this.pages) await page.context().close();
    this.server.removeAllListeners('exit');
    if (this.server.exitCode === null && this.server.signalCode === null) {
      const gone = new Promise((done) => this.server.once('exit', done));
      this.server.kill('SIGKILL');
      await gone;
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Waits until something holds. */
export async function until(what, holds) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > end) throw new Error(`this never came to be: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

export function equal(found, wanted, what) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`${what}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
  }
}

export function holds(it, what) {
  if (!it) throw new Error(what);
}
