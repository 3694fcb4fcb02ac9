// What journeys are made of.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, until } from './stage.mjs';

export const example = (name) => ({ name, text: readFileSync(join(root, 'examples', name), 'utf8') });
export const order = example('order.bpmn');
export const hello = example('hello.bpmn');

/** A model with what is between its process tags. */
export const model = (id, inside, name = id) => ({
  name: `${id}.bpmn`,
  text: `<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" id="m" targetNamespace="t"><process id="${id}" name="${name}" isExecutable="true">${inside}</process></definitions>`,
});
export const flow = (from, to) => `<sequenceFlow id="${from}-${to}" sourceRef="${from}" targetRef="${to}"/>`;
export const HOSTILE = `<img src=x onerror=alert(1)><script>alert(2)</script>"'&`;
export const escaped = HOSTILE.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export const press = (page, name) => page.getByRole('button', { name, exact: true }).first().click();
export const dialog = (page) => page.locator('dialog[open]');

export async function sample(stage) {
  await stage.deploy(order);
  await stage.ask('POST', 'instances', { definition: 'order', id: 'ORD-7', variables: { amount: 250 } });
}
export async function jobAt(stage, element) {
  return until(`a job at ${element}`, async () => (await stage.ask('GET', 'jobs')).jobs.find((it) => it.element === element)?.job);
}
