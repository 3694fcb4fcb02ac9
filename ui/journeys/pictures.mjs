// `node journeys/pictures.mjs BINARY CHROMIUM DIRECTORY [PAGE…]`: a picture of each page, light and dark, for docs/ui.
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { browser as launch, root, Stage } from './stage.mjs';

const [program, chromium, directory, ...only] = process.argv.slice(2);
const wanted = (name) => only.length === 0 || only.includes(name);
if (!directory) {
  console.error('usage: node journeys/pictures.mjs BINARY CHROMIUM DIRECTORY [PAGE…]');
  process.exit(2);
}
mkdirSync(directory, { recursive: true });
const browser = await launch(chromium);
const stage = await Stage.open(resolve(program), browser);
const file = (name) => ({ name, text: readFileSync(join(root, 'examples', name), 'utf8') });
await stage.deploy(file('order.bpmn'));
await stage.deploy(file('approval.bpmn'), file('approval.dmn'));
await stage.deploy(file('hello.bpmn'));
await stage.deploy(file('shipping.dmn'));
for (const [n, amount] of [250, 980, 120, 40, 75, 310, 64, 18].entries()) {
  await stage.ask('POST', 'instances', { definition: 'order', id: `ORD-${n + 1}`, variables: { amount, customer: { name: 'Ann', country: 'AT' } } });
}
const jobs = async () => (await stage.ask('GET', 'jobs')).jobs;
for (const it of (await jobs()).slice(0, 6)) await stage.ask('POST', `jobs/${it.job}/complete`, { variables: { shelf: 'B7' } });
const charges = (await jobs()).filter((it) => it.element === 'charge');
for (const it of charges.slice(4)) await stage.ask('POST', `jobs/${it.job}/complete`, { variables: { receipt: 'ch-17' } });
for (const it of charges.slice(1, 3)) await stage.ask('POST', `jobs/${it.job}/fail`, { message: 'card service 503', retries: 0 });
// A form, another version to migrate to, a batch, a session that is played, and accounts are not needed to look at them.
const formed = `<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:modeler="http://camunda.org/schema/modeler/1.0" modeler:executionPlatform="Camunda Cloud" modeler:executionPlatformVersion="8.6.0" id="m" targetNamespace="t"><process id="expense" name="Expense" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="u"/><userTask id="u" name="Approve the expense"><extensionElements><zeebe:userTask/><zeebe:formDefinition formId="expense-form"/></extensionElements></userTask><sequenceFlow id="g" sourceRef="u" targetRef="e"/><endEvent id="e"/></process></definitions>`;
const form = { type: 'default', id: 'expense-form', schemaVersion: 16, executionPlatform: 'Camunda Cloud', executionPlatformVersion: '8.6.0', components: [
  { type: 'number', id: 'n', key: 'amount', label: 'Amount', validate: { required: true } }, { type: 'textfield', id: 'x', key: 'comment', label: 'Comment' },
  { type: 'select', id: 'k', key: 'kind', label: 'Kind', values: [{ label: 'Travel', value: 'travel' }, { label: 'Food', value: 'food' }] }, { type: 'checkbox', id: 'c', key: 'ok', label: 'Approved' }] };
await stage.deploy({ name: 'expense.bpmn', text: formed }, { name: 'expense.form', text: JSON.stringify(form) });
await stage.ask('POST', 'instances', { definition: 'expense', id: 'E-1', variables: { amount: 250 } });
const order = file('order.bpmn').text;
await stage.deploy({ name: 'order.bpmn', text: order.replaceAll('"pack"', '"package"').replace('name="Pack the order"', 'name="Pack it up"') });
if (wanted('batches')) await stage.ask('POST', 'batches', { operation: 'set', q: 'def:order version:1', variables: { checked: true } });
await stage.ask('PUT', 'schedules/nightly', { definition: 'order', cron: '0 2 * * *' });
const { tasks } = await stage.ask('GET', 'tasks');
const task = tasks.find((it) => it.element === 'u')?.task ?? '';

const pages = {
  dashboard: '', processes: 'processes', process: 'processes/order?version=1', instances: 'instances?q=def:order&cols=amount', instance: 'instances/ORD-1',
  variables: 'instances/ORD-1?tab=variables&at=1.8', history: 'instances/ORD-1?tab=history', modify: 'instances/ORD-1/modify', migrate: 'migrate?definition=order&from=1&to=2', batches: 'operations?batch=',
  incidents: 'incidents', jobs: 'jobs', timers: 'timers', messages: 'messages', schedules: 'schedules', tasks: `tasks/${task}`, start: 'start?definition=order', deploy: 'deploy',
  model: 'model', play: 'play?definition=approval', decisions: 'decisions', decision: 'decisions/shipping', feel: 'feel', access: 'access', cluster: 'cluster', settings: 'settings', about: 'about',
};
const batch = wanted('batches') ? ((await stage.ask('GET', 'batches')).batches[0]?.batch ?? '') : '';
const before = {
  feel: async (page) => {
    await page.getByRole('button', { name: 'Evaluate' }).click();
    await page.waitForSelector('[data-value]');
  },
  deploy: async (page) => {
    await page.setInputFiles('#files', { name: 'order.bpmn', mimeType: 'application/xml', buffer: Buffer.from(order) });
    await page.locator('.picture svg').waitFor();
  },
  modify: async (page) => {
    await page.locator('g[data-token="9"]').dragTo(page.locator('[data-element=pack]'));
    await page.locator('[data-preview]').waitFor();
  },
  migrate: async (page) => {
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.locator('[data-tried]').waitFor();
  },
  model: async (page) => {
    await page.locator('tr').filter({ hasText: 'order v' }).getByRole('button', { name: 'Edit a copy' }).click();
    await page.locator('.djs-element[data-element-id=slow] .djs-hit').first().click({ force: true });
    await page.locator('[data-property=time]').waitFor();
  },
  play: async (page) => {
    await page.fill('#variables', '{"amount": 250}');
    await page.locator('main').getByRole('button', { name: 'Play', exact: true }).click();
    await page.locator('[data-wait]').first().waitFor();
  },
  decision: async (page) => {
    await page.fill('#variables', readFileSync(join(root, 'examples/shipping.json'), 'utf8'));
    await page.getByRole('button', { name: 'Decide' }).click();
    await page.locator('[data-decided]').waitFor();
    await page.locator('[data-decision-table=price]').scrollIntoViewIfNeeded();
  },
};
for (const colorScheme of ['light', 'dark']) {
  for (const [name, path] of Object.entries(pages).filter(([name]) => wanted(name))) {
    const page = await stage.page(name === 'batches' ? path + batch : path, { colorScheme, viewport: { width: 1180, height: 720 } });
    await before[name]?.(page);
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(directory, `${name}-${colorScheme}.png`) });
    await page.context().close();
    stage.pages.pop();
  }
}
await stage.close();
await browser.close();
