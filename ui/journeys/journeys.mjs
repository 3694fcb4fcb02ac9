// The journeys: what somebody does, and what they must then see.
import { more } from './more.mjs';
import { dialog, escaped, flow, hello, HOSTILE, jobAt, model, order, press, sample } from './parts.mjs';
import { equal, holds, until } from './stage.mjs';

export const journeys = [
  {
    name: 'J1 first minute',
    async run(stage) {
      const page = await stage.page();
      equal(await page.locator('h1').count(), 1, 'one h1');
      holds(page.requests.filter((it) => !it.endsWith('icon.svg')).length <= 8, `few requests: ${page.requests.join(' ')}`);
      const before = page.requests.length;
      await press(page, 'Run the sample order');
      await page.waitForURL('**/instances/ORD-7*');
      await page.waitForSelector('[data-element=reserve][data-tokens="1"]', { state: 'attached' });
      await page.waitForSelector('[data-hint]');
      equal(await page.title(), 'ORD-7 · order · Travertine', 'title');
      const other = page.requests.slice(before).filter((it) => !/\/api\/1\/|\/assets\/|order\.bpmn|icon\.svg/.test(it));
      equal(other, [], 'nothing but data is asked for');
      await stage.axe(page, 'instance');
    },
  },
  {
    name: 'J2 drop a model',
    async run(stage) {
      const page = await stage.page('timers');
      const data = await page.evaluateHandle(({ name, text }) => {
        const it = new DataTransfer();
        it.items.add(new File([text], name));
        return it;
      }, hello);
      await page.dispatchEvent('body', 'drop', { dataTransfer: data });
      await page.waitForURL('**/deploy');
      await page.waitForSelector('[data-file="hello.bpmn"]');
      await until('Deploy can be pressed', () => page.getByRole('button', { name: 'Deploy', exact: true }).isEnabled());
      await press(page, 'Deploy');
      await page.getByText('hello version 1').first().waitFor();
      await page.locator('main').getByRole('link', { name: 'Start', exact: true }).click();
      await page.waitForURL('**/start?definition=hello');
    },
  },
  {
    name: 'J3 drop a broken one',
    async run(stage) {
      const page = await stage.page('deploy');
      const bad = model('late', `<startEvent id="s"/>${flow('s', 'w')}<intermediateCatchEvent id="w"><timerEventDefinition id="t"><timeDuration xsi:type="tFormalExpression">2 days</timeDuration></timerEventDefinition></intermediateCatchEvent>${flow('w', 'e')}<endEvent id="e"/>`);
      await page.setInputFiles('#files', { name: bad.name, mimeType: 'application/xml', buffer: Buffer.from(bad.text) });
      const found = page.locator('[data-diagnostic^=TV]').first();
      await found.waitFor();
      await page.locator('.picture [data-element=w][data-diagnostic=TV0512]').waitFor();
      holds(/late\.bpmn:1:/.test(await found.innerText()), 'the diagnostic has a place');
      holds(await page.getByRole('button', { name: 'Deploy', exact: true }).isDisabled(), 'Deploy is off');
      equal((await stage.ask('GET', 'definitions')).definitions.length, 0, 'nothing is deployed');
      await stage.axe(page, 'deploy');
    },
  },
  {
    name: 'J5 start with variables, J6 start twice',
    async run(stage) {
      await stage.deploy(order);
      const page = await stage.page('start?definition=order');
      await page.fill('#id', 'ORD-1');
      await page.fill('#variables', '{\n  "amount": 12345678901234567890.12,\n  oops\n}');
      await page.getByRole('alert').filter({ hasText: 'line 3, column 3' }).waitFor();
      holds(await page.locator('main').getByRole('button', { name: 'Start', exact: true }).isDisabled(), 'Start is off');
      await page.fill('#variables', '{\n  "amount": 12345678901234567890.12\n}');
      await page.locator('main').getByRole('button', { name: 'Start', exact: true }).click();
      await page.waitForURL('**/instances/ORD-1');
      await page.getByRole('tab', { name: 'Variables' }).click();
      await page.locator('[data-variable=amount]').filter({ hasText: '12345678901234567890.12' }).waitFor();
      await page.goto(`${stage.base}/ui/instances`);
      await page.locator('[data-instance]').filter({ hasText: 'ORD-1' }).waitFor();
      await page.goto(`${stage.base}/ui/start?definition=order`);
      await page.fill('#id', 'ORD-1');
      await page.fill('#variables', '{"amount": 1}');
      await page.locator('main').getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByRole('link', { name: 'Open it' }).click();
      await page.waitForURL('**/instances/ORD-1');
    },
  },
  {
    name: 'J7 live tokens, J8 why and do',
    async run(stage) {
      await sample(stage);
      const [one, two] = [await stage.page('instances/ORD-7'), await stage.page('instances/ORD-7')];
      await stage.ask('POST', `jobs/${await jobAt(stage, 'reserve')}/complete`, { variables: { shelf: 'B7' } });
      for (const page of [one, two]) {
        await page.waitForSelector('[data-element=charge][data-tokens="1"]', { state: 'attached' });
        await page.getByText('waits for a worker of type charge').first().waitFor();
      }
      await press(one, 'Fire');
      await one.getByRole('status').filter({ hasText: 'has rung' }).waitFor();
      await until('the timer is no reason any more', async () => !(await one.locator('[role=tabpanel]').getByText('After an hour').count()));
      await one.getByRole('tab', { name: 'Why' }).click();
      await press(one, 'Complete');
      await dialog(one).locator('textarea').fill('{"receipt": "ch-17"}');
      await dialog(one).getByRole('button', { name: 'Complete', exact: true }).click();
      await two.waitForSelector('[data-element=pack][data-tokens="1"]', { state: 'attached' });
    },
  },
  {
    name: 'J9 time travel, J10 variable history',
    async run(stage) {
      await sample(stage);
      for (const amount of [1, 2]) await stage.ask('POST', 'instances/ORD-7/variables', { variables: { amount } });
      await stage.ask('POST', `jobs/${await jobAt(stage, 'reserve')}/complete`, { variables: {} });
      await stage.ask('POST', `jobs/${await jobAt(stage, 'charge')}/error`, { code: 'card-refused' });
      await stage.ask('POST', `jobs/${await jobAt(stage, 'release')}/complete`, {});
      const page = await stage.page('instances/ORD-7?tab=variables');
      const slider = page.locator('[role=slider]');
      await until('the slider is at the end', async () => /now$/.test((await slider.getAttribute('aria-valuetext')) ?? ''));
      await page.locator('[data-variable=amount]').getByRole('button', { name: 'History' }).click();
      await page.locator('.past').filter({ hasText: 'anonymous' }).locator('li').nth(2).waitFor();
      await slider.focus();
      await page.keyboard.press('Home');
      await until('the slider is at the beginning', async () => /^entry \d+, event 1 of/.test((await slider.getAttribute('aria-valuetext')) ?? ''));
      await page.keyboard.press(']');
      await until('one event on', async () => /^entry \d+, event 2 of/.test((await slider.getAttribute('aria-valuetext')) ?? ''));
      const moments = await stage.ask('GET', 'instances/ORD-7/frames?limit=500');
      const set = moments.frames.filter((it) => it.kind === 'variable_set' && it.name === 'amount');
      equal(set.map((it) => it.value), [250, 1, 2], 'values of the variable');
      await page.goto(`${stage.base}/ui/instances/ORD-7?tab=variables&at=${set[1].at}`);
      await page.locator('[data-variable=amount]').filter({ hasText: '1' }).waitFor();
      await page.waitForSelector('[data-element=reserve][data-tokens="1"]', { state: 'attached' });
      const other = await stage.page(`instances/ORD-7?tab=variables&at=${set[1].at}`);
      equal(await other.locator('[role=slider]').getAttribute('aria-valuetext').then((it) => it.split(',')[0]), await slider.getAttribute('aria-valuetext').then((it) => it.split(',')[0]), 'the same moment elsewhere');
      await other.keyboard.press('.');
      await until('now', async () => !other.url().includes('at='));
    },
  },
  {
    name: 'J11 edit a variable',
    async run(stage) {
      await sample(stage);
      const page = await stage.page('instances/ORD-7?tab=variables');
      const row = page.locator('[data-variable=amount]');
      await row.getByRole('button', { name: 'Edit', exact: true }).click();
      await dialog(page).locator('textarea').fill('{"amount": {"net": 12345678901234567890.12, "list": [1, 2]');
      holds(await dialog(page).getByRole('button', { name: 'Set', exact: true }).isDisabled(), 'what is no JSON cannot be set');
      await page.reload();
      await stage.ready(page);
      await row.getByRole('button', { name: 'Edit', exact: true }).click();
      equal(await dialog(page).locator('textarea').inputValue(), '{"amount": {"net": 12345678901234567890.12, "list": [1, 2]', 'the draft is still there');
      await dialog(page).locator('textarea').fill('{"amount": {"net": 12345678901234567890.12, "list": [1, 2]}}');
      await dialog(page).locator('[data-diff] ins').filter({ hasText: 'net' }).waitFor();
      // Somebody else is faster: it is told, and nothing typed is lost.
      await stage.ask('POST', 'instances/ORD-7/variables', { variables: { amount: 7 } });
      await dialog(page).getByRole('button', { name: 'Set', exact: true }).click();
      await dialog(page).getByRole('alert').filter({ hasText: 'set amount to 7' }).waitFor();
      await dialog(page).getByRole('button', { name: 'Set', exact: true }).click();
      await page.locator('[data-variable=amount]').filter({ hasText: '12345678901234567890.12' }).waitFor();
      await page.getByRole('tab', { name: 'History' }).click();
      await page.locator('[data-operator]').filter({ hasText: 'amount = ' }).first().waitFor();
    },
  },
  {
    name: 'J12 incident storm',
    async run(stage) {
      const gate = (id) => `<exclusiveGateway id="${id}"/><sequenceFlow id="${id}-e" sourceRef="${id}" targetRef="e"><conditionExpression xsi:type="tFormalExpression">${id}ok</conditionExpression></sequenceFlow>${flow('f', id)}`;
      await stage.deploy(model('storm', `<startEvent id="s"/>${flow('s', 'f')}<parallelGateway id="f"/>${gate('g')}${gate('h')}<endEvent id="e"/>`));
      for (let n = 0; n < 40; n++) await stage.ask('POST', 'instances', { definition: 'storm', id: `S-${n}`, variables: { gok: false, hok: n > 4 } });
      const page = await stage.page('incidents');
      const count = (cause) => page.locator(`[data-cause=${cause}] td`).first().innerText();
      await page.locator('[data-cause=g]').waitFor();
      await until('all are counted', async () => /^40/.test(await count('g')) && /^5/.test(await count('h')));
      await stage.axe(page, 'incidents');
      await page.locator('[data-cause=g]').getByRole('button', { name: 'Retry', exact: true }).click();
      await dialog(page).locator('textarea').fill('{"gok": true}');
      await dialog(page).getByRole('button', { name: 'Retry', exact: true }).click();
      // The server does it, and says what became of each.
      const batch = await until('a batch is over', async () => (await stage.ask('GET', 'batches')).batches.find((it) => it.ended !== null));
      equal([batch.operation, batch.total, batch.done, batch.refused], ['resolve', 40, 40, 0], 'the batch');
      await page.goto(`${stage.base}/ui/incidents`);
      await until('the other cause is untouched', async () => (await page.locator('[data-cause]').count()) === 1 && /^5/.test(await count('h')));
      // Where it fails again, that is told.
      await page.locator('[data-cause=h]').getByRole('button', { name: 'Retry', exact: true }).click();
      await dialog(page).getByRole('button', { name: 'Retry', exact: true }).click();
      const again = await until('another is over', async () => (await stage.ask('GET', 'batches')).batches.find((it) => it.ended !== null && it.batch !== batch.batch));
      equal([again.done, again.refused], [0, 5], 'they fail again');
      await page.goto(`${stage.base}/ui/operations?batch=${again.batch}`);
      await until('each has its reason', async () => (await page.locator('[data-outcome=refused]').count()) === 5);
    },
  },
  {
    name: 'J13 query line, J14 sort, columns, views',
    async run(stage) {
      await stage.deploy(order);
      for (const amount of [50, 150, 250]) await stage.ask('POST', 'instances', { definition: 'order', id: `ORD-${amount}`, variables: { amount } });
      const page = await stage.page('instances');
      await page.keyboard.press('/');
      await page.keyboard.type('def:order amount>100 at:reserve');
      await page.keyboard.press('Enter');
      await until('two are found', async () => (await page.locator('tr[data-instance]').count()) === 2);
      holds(page.url().includes('q=def'), 'the query is in the address');
      equal(await page.locator('.chip').count(), 3, 'chips');
      await page.reload();
      await until('two are found again', async () => (await page.locator('tr[data-instance]').count()) === 2);
      await page.goto(`${stage.base}/ui/instances?q=def:order&sort=started&cols=amount`);
      await until('three in order', async () => (await page.locator('tr[data-instance]').allInnerTexts()).map((it) => it.match(/ORD-(\d+)/)?.[1]).join() === '50,150,250');
      holds((await page.locator('tr[data-instance]').first().innerText()).includes('50'), 'a column of a variable');
      await press(page, 'Save view');
      await dialog(page).locator('input').fill('big ones');
      await dialog(page).getByRole('button', { name: 'Save view' }).click();
      await page.keyboard.press('Control+k');
      await page.keyboard.type('big');
      await page.getByRole('option').filter({ hasText: 'big ones' }).waitFor();
      await page.keyboard.press('Escape');
      await stage.axe(page, 'instances');
    },
  },
  {
    name: 'J15 heat map',
    async run(stage) {
      await stage.deploy(order);
      for (let n = 0; n < 12; n++) await stage.ask('POST', 'instances', { definition: 'order', id: `ORD-${n}` });
      for (const it of (await stage.ask('GET', 'jobs')).jobs.slice(0, 5)) await stage.ask('POST', `jobs/${it.job}/complete`, {});
      const page = await stage.page('processes/order');
      await page.waitForSelector('[data-element=reserve][data-tokens="7"]', { state: 'attached' });
      await page.waitForSelector('[data-element=charge][data-tokens="5"]', { state: 'attached' });
      await stage.axe(page, 'process');
      await page.locator('[data-element=charge][role=button]').click();
      await page.waitForURL('**/instances?q=*');
      await until('five are found', async () => (await page.locator('tr[data-instance]').count()) === 5);
    },
  },
  {
    name: 'J18 task, J20 keyboard only',
    async run(stage) {
      await stage.deploy(model('ask', `<startEvent id="s"/>${flow('s', 'u')}<userTask id="u" name="Approve it"/>${flow('u', 'e')}<endEvent id="e"/>`));
      await stage.ask('POST', 'instances', { definition: 'ask', id: 'A-1', variables: { amount: 250 } });
      const page = await stage.page('');
      await page.keyboard.press('Control+k');
      await page.keyboard.type('Tasks');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/tasks');
      await page.locator('[data-task]').waitFor();
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/tasks/*');
      await page.locator('[data-field=amount]').focus();
      await page.keyboard.press('Control+a');
      await page.keyboard.type('300');
      await page.reload();
      await until('what was typed is kept', async () => (await page.locator('[data-field=amount]').inputValue().catch(() => '')) === '300');
      await stage.axe(page, 'task');
      await page.locator('[data-field=amount]').focus();
      await page.keyboard.press('Control+Enter');
      await page.getByText('No task is open').waitFor();
      equal((await stage.ask('GET', 'instances/A-1')).result.amount, 300, 'the number arrived as one');
      // Along a diagram by arrows.
      await stage.deploy(order);
      await stage.ask('POST', 'instances', { definition: 'order', id: 'ORD-1' });
      await page.goto(`${stage.base}/ui/instances/ORD-1`);
      await page.waitForSelector('[data-element=ordered][role=button]');
      await page.locator('[data-element=ordered]').focus();
      await page.keyboard.press('ArrowRight');
      equal(await page.evaluate(() => document.activeElement?.dataset.element), 'reserve', 'to the right');
      holds(/1 token/.test(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))), 'it says what is there');
    },
  },
  {
    name: 'J19 claim race',
    async run(stage) {
      await stage.deploy(model('ask', `<startEvent id="s"/>${flow('s', 'u')}<userTask id="u" name="Approve it"/>${flow('u', 'e')}<endEvent id="e"/>`));
      await stage.ask('POST', 'instances', { definition: 'ask', id: 'A-1' });
      const { tasks: [{ task }] } = await stage.ask('GET', 'tasks');
      const page = await stage.page(`tasks/${task}`);
      await press(page, 'Claim');
      await dialog(page).locator('input').fill('ben');
      await stage.ask('POST', `tasks/${task}/claim`, { assignee: 'ann' });
      await dialog(page).getByRole('button', { name: 'Claim', exact: true }).click();
      await dialog(page).getByRole('alert').filter({ hasText: 'ann' }).waitFor();
    },
  },
  {
    name: 'J21 dark, zones and languages',
    async run(stage) {
      await sample(stage);
      const page = await stage.page('instances/ORD-7', { colorScheme: 'dark', timezoneId: 'Asia/Tokyo' });
      const sheet = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const dark = await sheet();
      await stage.axe(page, 'instance, dark');
      await page.getByRole('button', { name: 'System' }).click();
      await until('light', async () => (await sheet()) !== dark);
      await page.goto(`${stage.base}/ui/settings`);
      await page.selectOption('#zone', 'utc');
      await page.goto(`${stage.base}/ui/instances/ORD-7?tab=history`);
      await page.locator('[role=tabpanel] time').filter({ hasText: 'UTC' }).first().waitFor();
      await page.goto(`${stage.base}/ui/settings`);
      await page.selectOption('#language', 'de');
      await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    },
  },
  {
    name: 'hostile names and variables are only texts',
    async run(stage) {
      await stage.deploy(model('bad', `<startEvent id="s"/>${flow('s', 'u')}<userTask id="u" name="${escaped}"/>${flow('u', 'e')}<endEvent id="e"/>`, escaped));
      await stage.ask('POST', 'instances', { definition: 'bad', id: HOSTILE, variables: { [HOSTILE]: HOSTILE, __proto__: 1, text: HOSTILE } });
      const { tasks: [{ task }] } = await stage.ask('GET', 'tasks');
      const at = encodeURIComponent(HOSTILE);
      for (const path of ['', 'processes', 'processes/bad', 'instances', `instances/${at}`, `instances/${at}?tab=variables`, `instances/${at}?tab=history`, `instances/${at}?tab=raw`, 'tasks', `tasks/${task}`, 'jobs', `start?definition=${at}`, `instances?q=${at}`]) {
        const page = await stage.page(path);
        equal(await page.evaluate(() => [document.images.length - document.querySelectorAll('header.top img').length, document.querySelectorAll('main script').length]), [0, 0], path);
        await page.context().close();
        stage.pages.pop();
      }
    },
  },
  {
    name: 'every page is there, light and dark, and axe finds nothing serious',
    async run(stage) {
      await sample(stage);
      for (const colorScheme of ['light', 'dark']) {
        for (const path of ['', 'processes', 'instances', 'incidents', 'jobs', 'timers', 'messages', 'messages?tab=held', 'messages?tab=dead', 'operations', 'schedules', 'model', 'play', 'migrate', 'access', 'instances/ORD-7/modify', 'tasks', 'start', 'deploy', 'decisions', 'feel', 'cluster', 'settings', 'about', 'nothing', 'instances/none']) {
          const page = await stage.page(path, { colorScheme });
          equal([await page.locator('h1').count() <= 1, await page.locator('nav').first().isVisible()], [true, true], path);
          const alert = path.includes('none') ? 0 : await page.getByRole('alert').count();
          equal(alert, 0, `${path}: ${alert ? await page.getByRole('alert').first().innerText() : ''}`);
          await stage.axe(page, `${path} ${colorScheme}`);
          await page.context().close();
          stage.pages.pop();
        }
      }
    },
  },
  {
    name: 'a server that is gone is said to be gone, and nothing typed is lost',
    async run(stage) {
      await sample(stage);
      const page = await stage.page('instances/ORD-7');
      await press(page, 'Complete');
      await dialog(page).locator('textarea').fill('{"shelf": "B7"}');
      stage.server.removeAllListeners('exit');
      stage.server.kill('SIGKILL');
      await dialog(page).getByRole('button', { name: 'Complete', exact: true }).click();
      await dialog(page).getByRole('alert').filter({ hasText: 'does not answer' }).waitFor();
      equal(await dialog(page).locator('textarea').inputValue(), '{"shelf": "B7"}', 'it is still there');
      await page.waitForSelector('html[data-stream=lost], html[data-stream=polling]');
      stage.faults.length = 0;
    },
  },
  {
    name: 'below the path of a proxy',
    serve: ['--set', 'listen.base_path=/a/flow'],
    async run(stage) {
      stage.base += '/a/flow';
      await sample(stage);
      const page = await stage.page('instances/ORD-7');
      await page.waitForSelector('[data-element=reserve][data-tokens="1"]', { state: 'attached' });
      holds(page.requests.every((it) => it.startsWith(`${stage.base}/`)), 'all requests are below it');
      await page.locator('nav').getByRole('link', { name: 'Processes' }).click();
      await page.locator('[data-definition=order]').waitFor();
      await page.goBack();
      await page.waitForURL('**/a/flow/ui/instances/ORD-7');
    },
  },
  ...more,
];
