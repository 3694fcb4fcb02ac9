// More journeys: several files, calls, forms, schedules, and all that is made or changed.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dialog, escaped, example, flow, jobAt, model, order, press, sample } from './parts.mjs';
import { equal, holds, until } from './stage.mjs';

/** Files that somebody drops on the page. */
async function drop(page, ...files) {
  const data = await page.evaluateHandle((files) => {
    const it = new DataTransfer();
    for (const { name, text } of files) it.items.add(new File([text], name));
    return it;
  }, files);
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
  await page.waitForURL('**/deploy');
}
const main = (page, name) => page.locator('main').getByRole('button', { name, exact: true });

/** A user task of Camunda 8 with a form that is deployed. */
const formed = {
  name: 'expense.bpmn',
  text: `<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:modeler="http://camunda.org/schema/modeler/1.0" modeler:executionPlatform="Camunda Cloud" modeler:executionPlatformVersion="8.6.0" id="m" targetNamespace="t"><process id="expense" isExecutable="true"><startEvent id="s"/>${flow('s', 'u')}<userTask id="u" name="Approve it"><extensionElements><zeebe:userTask/><zeebe:formDefinition formId="expense-form"/></extensionElements></userTask>${flow('u', 'e')}<endEvent id="e"/></process></definitions>`,
};
const form = {
  name: 'expense.form',
  text: JSON.stringify({
    type: 'default', id: 'expense-form', schemaVersion: 16, executionPlatform: 'Camunda Cloud', executionPlatformVersion: '8.6.0',
    components: [
      { type: 'text', id: 't', text: '# Expense <img src=x onerror=alert(1)>' },
      { type: 'html', id: 'h', content: '<p id="foreign">of somebody else</p>' },
      { type: 'number', id: 'n', key: 'amount', label: 'Amount', validate: { required: true, min: 1 } },
      { type: 'textfield', id: 'x', key: 'comment', label: 'Comment', validate: { required: true } },
      { type: 'select', id: 'k', key: 'kind', label: 'Kind', values: [{ label: 'Travel', value: 'travel' }, { label: 'Food', value: 'food' }] },
      { type: 'checkbox', id: 'c', key: 'ok', label: 'Approved' },
    ],
  }),
};

export const more = [
  {
    name: 'J4 several files',
    async run(stage) {
      const page = await stage.page('processes');
      const caller = model('outer', `<startEvent id="s"/>${flow('s', 'c')}<callActivity id="c" calledElement="inner"/>${flow('c', 'e')}<endEvent id="e"/>`);
      const called = model('inner', `<startEvent id="s"/>${flow('s', 'u')}<userTask id="u"/>${flow('u', 'e')}<endEvent id="e"/>`);
      const broken = model('late', `<startEvent id="s"/>${flow('s', 'w')}<intermediateCatchEvent id="w"><timerEventDefinition id="t"><timeDuration xsi:type="tFormalExpression">2 days</timeDuration></timerEventDefinition></intermediateCatchEvent>${flow('w', 'e')}<endEvent id="e"/>`);
      await drop(page, caller, called, example('shipping.dmn'), form, broken);
      await page.locator('[data-diagnostic^=TV]').first().waitFor();
      holds(await main(page, 'Deploy').isDisabled(), 'one that is broken keeps all of them out');
      equal((await stage.ask('GET', 'definitions')).definitions.length, 0, 'nothing is deployed');
      await page.locator('[data-file="late.bpmn"]').getByRole('button', { name: 'Remove' }).click();
      await until('Deploy can be pressed', () => main(page, 'Deploy').isEnabled());
      await main(page, 'Deploy').click();
      await page.getByText('outer version 1').first().waitFor();
      const { definitions } = await stage.ask('GET', 'definitions');
      equal([...new Set(definitions.map((it) => it.deployment))].length, 1, 'one deployment');
      holds(['outer', 'inner', 'shipping', 'expense-form'].every((id) => definitions.some((it) => it.definition === id)), 'all of them are there');
      await stage.axe(page, 'deployed');
    },
  },
  {
    name: 'J17 calls',
    async run(stage) {
      await stage.deploy(
        model('outer', `<startEvent id="s"/>${flow('s', 'c')}<callActivity id="c" name="Each" calledElement="inner"><multiInstanceLoopCharacteristics><loopCardinality xsi:type="tFormalExpression">3</loopCardinality></multiInstanceLoopCharacteristics></callActivity>${flow('c', 'e')}<endEvent id="e"/>`),
        model('inner', `<startEvent id="s"/>${flow('s', 'u')}<userTask id="u"/>${flow('u', 'e')}<endEvent id="e"/>`),
        model('deep', `<startEvent id="s"/>${flow('s', 'g')}<exclusiveGateway id="g" default="g-e"/><sequenceFlow id="g-c" sourceRef="g" targetRef="c"><conditionExpression xsi:type="tFormalExpression">n &lt; 59</conditionExpression></sequenceFlow>${flow('g', 'u')}<callActivity id="c" calledElement="deep"><extensionElements><tv:input xmlns:tv="urn:travertine:bpmn:1" target="n">n + 1</tv:input></extensionElements></callActivity><sequenceFlow id="g-e" sourceRef="g" targetRef="u"/>${flow('c', 'e')}<userTask id="u"/>${flow('u', 'e')}<endEvent id="e"/>`.replace(flow('g', 'u'), '')),
      );
      await stage.ask('POST', 'instances', { definition: 'outer', id: 'O-1' });
      const page = await stage.page('instances/O-1');
      await page.locator('[role=tabpanel] [data-held] a').first().waitFor();
      await page.getByRole('tab', { name: 'Calls' }).click();
      await until('three children', async () => (await page.locator('[role=tabpanel] [data-instance]').count()) === 3);
      holds(/running/.test(await page.locator('[role=tabpanel] [data-instance]').first().innerText()), 'with their state');
      await stage.ask('POST', 'instances', { definition: 'deep', id: 'D-1', variables: { n: 0 } });
      const task = await until('sixty levels', async () => (await stage.ask('GET', 'tasks?definition=deep')).tasks[0]);
      await page.goto(`${stage.base}/ui/instances/${task.instance}`);
      await stage.ready(page);
      const crumbs = page.getByRole('navigation', { name: 'Breadcrumb' });
      await crumbs.getByText(/… \d\d …/).waitFor();
      holds((await crumbs.locator('a').count()) <= 6, 'the breadcrumb is folded');
      await crumbs.getByRole('link', { name: 'D-1' }).click();
      await page.waitForURL('**/instances/D-1');
      await stage.axe(page, 'calls');
    },
  },
  {
    name: 'J18 task with a form',
    async run(stage) {
      await stage.deploy(formed, form);
      await stage.ask('POST', 'instances', { definition: 'expense', id: 'E-1', variables: { amount: 250 } });
      const { tasks: [{ task }] } = await stage.ask('GET', 'tasks');
      const other = await stage.page('tasks');
      await other.locator(`[data-task="${task}"]`).waitFor();
      const page = await stage.page(`tasks/${task}`);
      const amount = page.getByLabel('Amount');
      await amount.waitFor();
      equal([await amount.inputValue(), await page.locator('#foreign').count()], ['250', 0], 'filled in, and nothing foreign');
      await main(page, 'Complete').click();
      await page.getByText('Field is required.').waitFor();
      await page.getByLabel('Comment').fill('ok for me');
      await amount.fill('12.5');
      await page.locator('.fjs-select-display').click();
      await page.getByText('Food').click();
      // What is typed survives a reload.
      await until('the draft is kept', () => page.evaluate((task) => localStorage.getItem(`travertine.draft.form.${task}`)?.includes('food'), task));
      await page.reload();
      await until('it is back', async () => (await page.getByLabel('Comment').inputValue().catch(() => '')) === 'ok for me');
      await stage.axe(page, 'form');
      holds(await page.locator('.fjs-powered-by').isVisible(), 'the mark is visible');
      await main(page, 'Complete').click();
      await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor();
      const { amount: number, comment, kind, ok } = (await stage.ask('GET', 'instances/E-1')).result;
      equal([number, comment, kind, ok], [12.5, 'ok for me', 'food', false], 'types are right');
      await until('the other sees it vanish', async () => (await other.locator(`[data-task="${task}"]`).count()) === 0);
    },
  },
  {
    name: 'J22 schedules',
    async run(stage) {
      await stage.deploy(order);
      const page = await stage.page('schedules');
      await press(page, 'Add');
      await dialog(page).getByLabel('Name').fill('nightly');
      await dialog(page).getByLabel('Starts').fill('order');
      await dialog(page).getByLabel('Cron').fill('0 2 * * *');
      await dialog(page).getByRole('button', { name: 'Add', exact: true }).click();
      const row = page.locator('[data-schedule=nightly]');
      await row.filter({ hasText: 'skip' }).waitFor();
      holds((await row.locator('time').count()) >= 1, 'the next time is there');
      await row.getByRole('button', { name: 'Trigger', exact: true }).click();
      await until('one was started', async () => (await stage.ask('GET', 'schedules/nightly')).started === 1);
      await row.filter({ hasText: '1 / 0 / 0' }).waitFor();
      await row.getByRole('button', { name: 'Pause', exact: true }).click();
      await row.locator('[data-state=paused]').waitFor();
      await row.getByRole('button', { name: 'Resume', exact: true }).click();
      await row.locator('[data-state=active]').waitFor();
      await stage.axe(page, 'schedules');
    },
  },
  {
    name: 'J23 model, check, deploy',
    async run(stage) {
      const page = await stage.page('model');
      await press(page, 'New diagram');
      await page.waitForSelector('.djs-palette');
      const property = (name) => page.locator(`[data-property=${name}]`);
      const append = async (to, action) => {
        const before = await page.locator('.djs-shape').evaluateAll((all) => all.map((it) => it.dataset.elementId));
        if (to) await page.locator(`.djs-element[data-element-id="${to}"] .djs-hit`).first().click({ force: true });
        await page.locator(`.djs-context-pad.open [data-action="${action}"]`).click();
        return until('it is appended', async () => (await page.locator('.djs-shape').evaluateAll((all) => all.map((it) => it.dataset.elementId))).find((it) => !before.includes(it) && !it.endsWith('_label')));
      };
      const change = async (element, to) => {
        await until('it is chosen', async () => (await property('id').inputValue()) === element);
        await page.locator('.djs-context-pad.open [data-action=replace]').click();
        await page.locator(`.djs-popup [data-id="${to}"]`).click();
        await page.locator('.djs-popup').waitFor({ state: 'detached' });
        return property('id').inputValue();
      };
      const task = await change(await append('start', 'append.append-task'), 'replace-with-user-task');
      const timer = await append(null, 'append.intermediate-event');
      await change(timer, 'replace-with-timer-intermediate-catch');
      await property('time').fill('2 days');
      const wrong = page.locator('[data-diagnostic=TV0512]');
      await wrong.waitFor();
      const marked = await wrong.getAttribute('data-for');
      await page.waitForSelector(`[data-mark="${marked}"]`);
      holds(await main(page, 'Deploy').isDisabled(), 'Deploy is off');
      await property('time').fill('P2D');
      await until('it is right', async () => (await wrong.count()) === 0);
      await append(null, 'append.end-event');
      await page.reload();
      await page.waitForSelector(`.djs-element[data-element-id="${task}"]`);
      holds(await page.locator('.bjs-powered-by').isVisible(), 'the mark is visible');
      await stage.axe(page, 'model');
      await until('Deploy can be pressed', () => main(page, 'Deploy').isEnabled());
      await main(page, 'Deploy').click();
      await page.getByText('process version 1').first().waitFor();
      // What others have put into a model stays in it.
      await stage.deploy(formed, form);
      await page.goto(`${stage.base}/ui/model`);
      await page.locator('tr').filter({ hasText: 'expense' }).getByRole('button', { name: 'Edit a copy' }).click();
      await page.waitForSelector('.djs-element[data-element-id=u]');
      await page.locator('.djs-element[data-element-id=u] .djs-hit').first().click({ force: true });
      await property('name').fill('Look at it');
      await until('it is written', () => page.evaluate(() => { const it = localStorage.getItem('travertine.model.expense') ?? ''; return it.includes('Look at it') && it.includes('zeebe:formDefinition') && it.includes('zeebe:userTask'); }));
    },
  },
  {
    name: 'J25 modify by drag',
    async run(stage) {
      await sample(stage);
      await stage.ask('POST', `jobs/${await jobAt(stage, 'reserve')}/complete`, {});
      const page = await stage.page('instances/ORD-7');
      await main(page, 'Modify').click();
      await page.locator('g[data-token="9"]').waitFor();
      await page.locator('g[data-token="9"]').dragTo(page.locator('[data-element=release]'));
      // The kernel says what cannot be.
      await page.getByRole('alert').filter({ hasText: 'reached only by compensation' }).waitFor();
      holds(await main(page, 'Apply').isDisabled(), 'what cannot be is not applied');
      await page.locator('g[data-token="9"]').dragTo(page.locator('[data-element=pack]'));
      await page.locator('[data-token=new]').dragTo(page.locator('[data-element=remind]'));
      await page.locator('[data-preview] [data-change=pack]').filter({ hasText: '0 → 1' }).waitFor();
      equal(await page.locator('[data-step]').count(), 2, 'steps');
      await page.reload();
      await page.locator('[data-preview] [data-change=pack]').waitFor();
      // The same without dragging.
      await page.getByLabel('New token at…').selectOption('reserve');
      await main(page, 'Add').click();
      await page.locator('[data-preview] [data-change=reserve]').waitFor();
      await stage.axe(page, 'modify');
      await main(page, 'Apply').click();
      await page.waitForURL('**/instances/ORD-7?tab=history');
      await page.waitForSelector('[data-element=pack][data-tokens="1"]', { state: 'attached' });
      await until('one entry is the operator’s', async () => (await page.locator('[data-operator]').count()) === 1);
    },
  },
  {
    name: 'J27 decide and FEEL',
    async run(stage) {
      await stage.deploy(example('shipping.dmn'));
      const page = await stage.page('decisions/shipping');
      await page.fill('#variables', example('shipping.json').text);
      await press(page, 'Decide');
      await page.locator('[data-decided]').filter({ hasText: '21.42' }).waitFor();
      const matched = async (table) => page.locator(`[data-decision-table=${table}] [data-matched]`).evaluateAll((all) => all.map((it) => it.dataset.rule));
      equal([await matched('zone'), await matched('price'), await matched('surcharge')], [['1'], ['2'], ['1', '2']], 'rules that matched');
      await stage.axe(page, 'decision');
      await page.goto(`${stage.base}/ui/feel`);
      await page.fill('#expression', 'customer.name + 1');
      await page.fill('#variables', '{"customer": {"name": "Ann"}}');
      await press(page, 'Evaluate');
      await page.locator('[data-value]').filter({ hasText: 'null' }).filter({ hasText: 'a string and a number cannot be added' }).waitFor();
    },
  },
  {
    name: 'J28 keys and rights',
    prepare: (dir, binary) => {
      for (const [name, grant] of [['ann', 'admin'], ['bob', 'viewer']]) {
        execFileSync(binary, ['access', 'user', 'add', name, '--grant', grant, '--data', join(dir, 'store')], { input: 'correct horse\n' });
      }
    },
    async run(stage) {
      stage.authorization = `Basic ${Buffer.from('ann:correct horse').toString('base64')}`;
      await sample(stage);
      const login = async (name) => {
        const page = await stage.page('instances/ORD-7');
        await page.getByLabel(/^Name/).fill(name);
        await page.getByLabel(/Password/).fill('correct horse');
        await main(page, 'Log in').click();
        await page.waitForSelector('[data-element=reserve][data-tokens="1"]', { state: 'attached' });
        return page;
      };
      const ann = await login('ann');
      await main(ann, 'Cancel').waitFor();
      await ann.locator('nav').getByRole('link', { name: 'Access' }).click();
      await press(ann, 'Add key');
      await dialog(ann).getByLabel('Id').fill('mailer');
      await dialog(ann).getByLabel('Grants').fill('viewer');
      await dialog(ann).getByRole('button', { name: 'Add', exact: true }).click();
      const secret = await ann.locator('[data-key-text]').innerText();
      await ann.locator('tr[data-key=mailer]').waitFor();
      const uses = async () => (await fetch(`${stage.base}/api/1/instances`, { headers: { authorization: `Bearer ${secret}` } })).status;
      await until('it is good', async () => (await uses()) === 200);
      await stage.axe(ann, 'access');
      await ann.getByRole('button', { name: 'I have it' }).click();
      holds(!(await ann.content()).includes(secret), 'it is shown once');
      await ann.locator('tr[data-key=mailer]').getByRole('button', { name: 'Revoke', exact: true }).click();
      await dialog(ann).getByRole('button', { name: 'Revoke', exact: true }).click();
      await until('nobody comes in with it', async () => (await uses()) === 401);
      // Who may only look has nothing to press, and is refused by the API, too.
      const bob = await login('bob');
      for (const verb of ['Cancel', 'Suspend', 'Set', 'Modify', 'Complete', 'Fail', 'Throw error']) equal(await main(bob, verb).count(), 0, verb);
      equal(await bob.locator('nav').getByRole('link', { name: 'Deploy' }).count(), 0, 'no Deploy');
      const refused = await fetch(`${stage.base}/api/1/instances/ORD-7/cancel`, { method: 'POST', headers: { authorization: `Basic ${Buffer.from('bob:correct horse').toString('base64')}`, 'content-type': 'application/json' }, body: '{}' });
      equal(refused.status, 403, 'the API refuses it');
      await stage.axe(bob, 'viewer');
    },
  },
  {
    name: 'budgets: ten thousand tokens, and a long history',
    async run(stage) {
      await stage.deploy(model('many', `<startEvent id="s"/>${flow('s', 't')}<serviceTask id="t"><multiInstanceLoopCharacteristics><loopCardinality xsi:type="tFormalExpression">10000</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>${flow('t', 'e')}<endEvent id="e"/>`));
      await stage.ask('POST', 'instances', { definition: 'many', id: 'M-1' });
      const sizes = [];
      const page = await stage.page('');
      page.on('response', (it) => it.url().includes('/api/1/instances/M-1') && sizes.push(it.body().then((body) => body.length).catch(() => 0)));
      await page.goto(`${stage.base}/ui/instances/M-1`);
      await stage.ready(page);
      const bytes = (await Promise.all(sizes)).reduce((sum, it) => sum + it, 0);
      const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
      holds(nodes <= 4000, `${nodes} nodes`);
      holds(bytes <= 250 * 1024, `${bytes} bytes of data, not compressed`);
      equal(await page.locator('[data-element=t]').getAttribute('data-tokens').then(Number) >= 10000, true, 'tokens are summed');
      await stage.axe(page, 'many tokens');
    },
  },
  {
    name: 'hostile models and forms are only shown',
    async run(stage) {
      await stage.deploy(formed, form);
      const bad = model('bad', `<startEvent id="s"/>${flow('s', 'u')}<userTask id="u" name="${escaped}"/>${flow('u', 'e')}<endEvent id="e"/>`, escaped);
      await stage.deploy(bad);
      await stage.ask('POST', 'instances', { definition: 'bad', id: 'B-1' });
      for (const path of ['instances/B-1/modify', 'migrate?definition=bad', 'play?definition=bad', 'model']) {
        const page = await stage.page(path);
        equal(await page.evaluate(() => [document.images.length, document.querySelectorAll('main script').length]), [0, 0], path);
      }
      const page = await stage.page('model');
      await page.locator('tr').filter({ hasText: 'bad v1' }).getByRole('button', { name: 'Edit a copy' }).click();
      await page.waitForSelector('.djs-element[data-element-id=u]');
      equal(await page.evaluate(() => [...document.images].filter((it) => it.src.endsWith('/x')).length), 0, 'no image of the model');
    },
  },
  {
    name: 'J24 play',
    async run(stage) {
      await stage.deploy(example('approval.bpmn'), example('approval.dmn'));
      const page = await stage.page('play?definition=approval');
      await page.fill('#variables', '{"amount": 250}');
      await page.fill('#now', '2026-01-05T09:00:00Z');
      await main(page, 'Play').click();
      await page.waitForURL('**/play/*');
      await page.locator('[data-wait=approve]').waitFor();
      await page.waitForSelector('[data-element=approve][data-tokens="1"]', { state: 'attached' });
      const complete = async (vars) => {
        await page.locator('[data-wait=approve]').getByRole('button', { name: 'Complete', exact: true }).click();
        await dialog(page).locator('textarea').fill(vars);
        await dialog(page).getByRole('button', { name: 'Complete', exact: true }).click();
      };
      await complete('{"approved": true}');
      await page.locator('[data-outcome=completed]').waitFor();
      await press(page, 'Back one step');
      await page.locator('[data-outcome=waiting]').waitFor();
      await page.fill('.by', 'P2D');
      await press(page, 'Advance');
      await page.locator('[data-time^="2026-01-07T09:00:00"]').waitFor();
      await stage.axe(page, 'play');
      await complete('{"approved": false}');
      await page.locator('[data-outcome=completed]').waitFor();
      const shown = (await stage.ask('GET', page.url().replace(/.*\/play\//, 'play/'))).variables;
      const [download] = await Promise.all([page.waitForEvent('download'), press(page, 'Save as answers')]);
      const answers = join(stage.dir, 'saved.answers.json');
      writeFileSync(answers, readFileSync(await download.path()));
      const files = ['approval.bpmn', 'approval.dmn'].map((name) => {
        writeFileSync(join(stage.dir, name), example(name).text);
        return name;
      });
      const run = execFileSync(stage.binary, ['run', ...files, '--vars', '{"amount": 250}', '--now', '2026-01-05T09:00:00Z', '--answers', answers, '--json'], { cwd: stage.dir, encoding: 'utf8' });
      equal(JSON.parse(run).variables, shown, 'the command line gives the same');
    },
  },
  {
    name: 'J26 migrate',
    async run(stage) {
      await stage.deploy(order);
      for (let n = 0; n < 12; n++) await stage.ask('POST', 'instances', { definition: 'order', id: `ORD-${n}` });
      for (const it of (await stage.ask('GET', 'jobs')).jobs.slice(0, 2)) await stage.ask('POST', `jobs/${it.job}/complete`, {});
      const next = order.text.replace('name="Reserve stock"', 'name="Hold stock"').replaceAll('"reserve"', '"hold"').replaceAll('"charge"', '"bill"').replace('name="Charge the card"', 'name="Bill it"');
      await stage.deploy({ name: 'order.bpmn', text: next });
      const page = await stage.page('migrate?definition=order&from=1&to=2');
      const [from, to] = ['from', 'to'].map((it) => page.locator(`[data-picture=${it}]`));
      await from.locator('[data-element=reserve][role=button]').waitFor();
      await to.locator('[data-element=hold][role=button]').waitFor();
      // What looks as if it were the same is proposed; what is meant is dragged.
      await page.getByLabel('What charge becomes').selectOption('');
      await page.getByLabel('What reserve becomes').selectOption('');
      await from.locator('[data-element=reserve]').dragTo(to.locator('[data-element=hold]'));
      await until('it is mapped', async () => (await page.getByLabel('What reserve becomes').inputValue()) === 'hold');
      await press(page, 'Dry run');
      await page.locator('[data-tried]').filter({ hasText: '10 possible, 2 not' }).waitFor();
      await page.locator('[data-impossible]').filter({ hasText: 'charge' }).first().waitFor();
      await stage.axe(page, 'migrate');
      await main(page, 'Migrate').click();
      await page.waitForURL('**/operations?batch=*');
      const row = page.locator('tr[data-batch]').first();
      await row.locator('[data-state=completed]').waitFor();
      equal((await row.locator('td.num').allInnerTexts()).map(Number), [10, 2], 'done and refused');
      await until('each has its result', async () => (await page.locator('[data-item]').count()) === 12);
      equal(await page.locator('[data-outcome=refused]').count(), 2, 'two are refused, with reasons');
      await stage.axe(page, 'operations');
      const { elements } = await stage.ask('GET', 'definitions/order/statistics?version=2');
      equal(elements.find((it) => it.element === 'hold')?.now, 10, 'ten have moved');
    },
  },
  {
    name: 'bulk actions are batches of the server',
    async run(stage) {
      await stage.deploy(order);
      for (let n = 0; n < 60; n++) await stage.ask('POST', 'instances', { definition: 'order', id: `ORD-${n}` });
      const page = await stage.page('instances?q=def:order');
      await page.getByLabel('Pick all rows').check();
      await page.getByLabel(/All .* that match/).check();
      await press(page, 'Suspend');
      await dialog(page).getByText('60 instances').first().waitFor();
      await dialog(page).getByRole('button', { name: 'Suspend', exact: true }).click();
      await page.waitForURL('**/operations?batch=*');
      await page.locator('tr[data-batch]').first().locator('[data-state=completed]').waitFor();
      await until('all are suspended', async () => (await stage.ask('GET', 'instances?state=suspended&count=true')).total.count === 60);
      // A batch is a durable function, which has a journal in time in place of a picture.
      await page.goto(`${stage.base}/ui/instances/${(await stage.ask('GET', 'batches')).batches[0].batch}`);
      await stage.ready(page);
      await page.locator('.timeline .stretch').first().waitFor();
      await stage.axe(page, 'function');
    },
  },
];
