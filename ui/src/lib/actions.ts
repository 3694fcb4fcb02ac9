// Every action of the page, once: what it asks for, what it sends, the same as a command, and what became of it.
import { quote, type Action, type Field, type Values } from './act.svelte';
import { ask, Fault, post } from './api';
import { parse, write, type Json } from './json';
import { route } from './router.svelte';
import { t, type Message } from './text.svelte';
import type { InstanceRow } from './types';

const at = encodeURIComponent;

/** Variables as somebody has typed them. */
export function variables(text: string | undefined): { [name: string]: Json } {
  const read = text?.trim() ? parse(text) : {};
  if (read === null || typeof read !== 'object' || Array.isArray(read)) {
    throw new Error(t('act.variables.object'));
  }
  return read as { [name: string]: Json };
}

function vars(value = '{}', label = t('act.variables')): Field {
  return { name: 'variables', label, kind: 'json', value, hint: t('act.variables.hint') };
}

function flags(values: Values): string {
  try {
    const all = variables(values.variables);
    return Object.keys(all).length ? ` --vars ${quote(write(all))}` : '';
  } catch {
    return '';
  }
}

/** What an instance is after something was done to it. */
async function outcome(instance: string, done: string): Promise<string> {
  try {
    const row = await ask<InstanceRow>(`instances/${at(instance)}`);
    const state = row.incident_count > 0 && row.state === 'running' ? t('outcome.incidents', { count: row.incident_count }) : row.state;
    return t('outcome', { done, name: row.business_id ?? row.instance, state });
  } catch {
    return done;
  }
}

const instanceOf = (wait: string) => wait.split('-')[0] ?? wait;

export function completeJob(job: string, value = '{}'): Action {
  return {
    needs: ['work'],
    name: t('do.complete'), title: t('act.complete', { what: job }), primary: true, draft: `complete.${job}`,
    fields: [vars(value)],
    command: (values) => `travertine complete ${job}${flags(values)}`,
    run: async (values, key) => {
      await post(`jobs/${at(job)}/complete`, { variables: variables(values.variables) }, { key });
      return outcome(instanceOf(job), t('done.complete', { what: job }));
    },
  };
}

export function failJob(job: string): Action {
  return {
    needs: ['work'],
    name: t('do.fail'), title: t('act.fail', { what: job }),
    fields: [{ name: 'message', label: t('act.message'), kind: 'text', required: true }, { name: 'retries', label: t('act.retries'), kind: 'number', hint: t('act.retries.hint') }],
    command: (values) => `travertine fail ${job} --message ${quote(values.message || 'WHY')}${values.retries ? ` --retries ${values.retries}` : ''}`,
    run: async (values, key) => {
      await post(`jobs/${at(job)}/fail`, { message: values.message, retries: values.retries ? Number(values.retries) : undefined }, { key });
      return outcome(instanceOf(job), t('done.fail', { what: job }));
    },
  };
}

export function raiseError(job: string): Action {
  return {
    needs: ['work'],
    name: t('do.error'), title: t('act.error', { what: job }),
    fields: [{ name: 'code', label: t('act.code'), kind: 'text', required: true }, { name: 'message', label: t('act.message'), kind: 'text' }, vars()],
    command: (values) => `travertine fail ${job} --error ${quote(values.code || 'CODE')}${values.message ? ` --message ${quote(values.message)}` : ''}${flags(values)}`,
    run: async (values, key) => {
      await post(`jobs/${at(job)}/error`, { code: values.code, message: values.message || undefined, variables: variables(values.variables) }, { key });
      return outcome(instanceOf(job), t('done.error', { what: values.code ?? '' }));
    },
  };
}

export function completeTask(task: string, value = '{}'): Action {
  return {
    ...completeJob(task, value), needs: ['operate', 'task'], draft: `task.${task}`,
    run: async (values, key) => {
      await post(`tasks/${at(task)}/complete`, { variables: variables(values.variables) }, { key });
      return outcome(instanceOf(task), t('done.complete', { what: task }));
    },
  };
}

export function claimTask(task: string, who: string): Action {
  return {
    needs: ['operate', 'task'],
    name: t('do.claim'), title: t('act.claim', { what: task }),
    fields: [{ name: 'assignee', label: t('act.assignee'), kind: 'text', value: who, required: true }],
    command: (values) => `travertine claim ${task} ${quote(values.assignee || 'NAME')}`,
    run: async (values, key) => {
      await post(`tasks/${at(task)}/claim`, { assignee: values.assignee }, { key });
      return t('done.claim', { what: task, who: values.assignee ?? '' });
    },
  };
}

export function unclaimTask(task: string): Action {
  return {
    needs: ['operate', 'task'],
    name: t('do.unclaim'), command: `travertine unclaim ${task}`,
    run: async (_, key) => {
      await post(`tasks/${at(task)}/unclaim`, {}, { key });
      return t('done.unclaim', { what: task });
    },
  };
}

export function fireTimer(timer: string): Action {
  return {
    needs: ['operate'],
    name: t('do.fire'), command: `travertine timers fire ${timer}`,
    run: async (_, key) => {
      await post(`timers/${at(timer)}/fire`, {}, { key });
      return outcome(instanceOf(timer), t('done.fire', { what: timer }));
    },
  };
}

export function moveTimer(timer: string, due = ''): Action {
  return {
    needs: ['operate'],
    name: t('do.move'), title: t('act.move', { what: timer }),
    fields: [{ name: 'to', label: t('act.due'), kind: 'text', value: due, required: true, hint: t('act.due.hint') }],
    command: (values) => `travertine timers move ${timer} ${quote(values.to || 'TIME')}`,
    run: async (values, key) => {
      await post(`timers/${at(timer)}/move`, { to: values.to }, { key });
      return t('done.move', { what: timer, to: values.to ?? '' });
    },
  };
}

export function completeWait(wait: string): Action {
  return {
    needs: ['operate'],
    name: t('do.complete'), title: t('act.complete', { what: wait }), fields: [vars()],
    command: (values) => `travertine complete ${wait}${flags(values)}`,
    run: async (values, key) => {
      await post(`waits/${at(wait)}/complete`, { variables: variables(values.variables) }, { key });
      return outcome(instanceOf(wait), t('done.complete', { what: wait }));
    },
  };
}

interface Resolved {
  retried?: Json;
  still?: Json[];
  incident_count?: number;
}

/** Tries again what is an incident, and says whether it is one again. */
export function resolve(instance: string, token?: string): Action {
  return {
    needs: ['operate'],
    name: t('do.retry'), primary: true,
    command: `travertine resolve ${instance}${token ? ` --token ${token}` : ''}`,
    run: async (_, key) => {
      const told = await post<Resolved>(`instances/${at(instance)}/resolve`, token ? { token } : {}, { key });
      const again = (told.still?.length ?? told.incident_count ?? 0) > 0;
      if (again) throw new Error(t('done.retry.again'));
      return outcome(instance, t('done.retry'));
    },
  };
}

export function setVariables(instance: string, token?: string, value = '{}', name = t('do.set')): Action {
  return {
    needs: ['operate'],
    name, title: t('act.set', { what: instance }), draft: `set.${instance}.${token ?? ''}`,
    fields: [vars(value)],
    command: (values) => `travertine set ${quote(instance)}${flags(values) || ' --var NAME=VALUE'}${token ? ` --token ${token}` : ''}`,
    run: async (values, key) => {
      const all = variables(values.variables);
      await post(`instances/${at(instance)}/variables`, token ? { variables: all, token } : { variables: all }, { key });
      return outcome(instance, t('done.set', { what: Object.keys(all).join(', ') }));
    },
  };
}

interface Layers {
  layers: { token: string; variables: { name: string; value: Json }[] }[];
}

/** Changes one variable where it is. What somebody else has changed meanwhile is told first. */
export function editVariable(instance: string, token: string, name: string, value: Json): Action {
  let seen = write(value, 2);
  const given = (text: string | undefined) => variables(text)[name] ?? null;
  const action = setVariables(instance, token, write({ [name]: value }, 2), t('do.edit'));
  return {
    ...action, verb: t('do.set'), draft: `set.${instance}.${token}.${name}`,
    change: (values) => {
      try {
        return [seen, write(given(values.variables), 2)];
      } catch {
        return null;
      }
    },
    run: async (values, key) => {
      const told = await ask<Layers>(`instances/${at(instance)}/variables`, { query: { token, limit: 1000 } });
      const now = write(told.layers.find((it) => it.token === token)?.variables.find((it) => it.name === name)?.value ?? null, 2);
      if (now !== seen && now !== write(given(values.variables), 2)) {
        seen = now;
        throw new Fault(409, 'changed', t('act.changed', { name, value: now }));
      }
      return action.run(values, key);
    },
  };
}

export function publish(name = '', correlate = '', instance?: string): Action {
  return {
    needs: ['message'],
    name: t('do.send'), title: t('act.send'),
    fields: [
      { name: 'name', label: t('act.name'), kind: 'text', value: name, required: true },
      { name: 'correlate', label: t('act.correlate'), kind: 'json', value: correlate || '{}', hint: t('act.correlate.hint') },
      vars(),
    ],
    command: (values) => {
      let keys = '';
      try {
        keys = Object.entries(variables(values.correlate)).map(([name, value]) => ` --correlate ${quote(`${name}=${typeof value === 'string' ? value : write(value)}`)}`).join('');
      } catch {
        // It is not whole yet.
      }
      return `travertine message ${quote(values.name || 'NAME')}${instance ? ` --instance ${instance}` : ''}${keys}${flags(values)}`;
    },
    run: async (values, key) => {
      const told = await post<{ outcome?: string; instance?: string | null }>('messages', {
        name: values.name, correlate: variables(values.correlate), variables: variables(values.variables), instance,
      }, { key });
      return t('done.send', { what: values.name ?? '', outcome: told.outcome ?? '', to: told.instance ?? '–' });
    },
  };
}

export function signal(name = ''): Action {
  return {
    needs: ['message'],
    name: t('do.signal'), title: t('act.signal'),
    fields: [{ name: 'name', label: t('act.name'), kind: 'text', value: name, required: true }, vars()],
    command: (values) => `travertine signal ${quote(values.name || 'NAME')}${flags(values)}`,
    run: async (values, key) => {
      const told = await post<{ received?: number; started?: number }>('signals', { name: values.name, variables: variables(values.variables) }, { key });
      return t('done.signal', { what: values.name ?? '', received: told.received ?? 0, started: told.started ?? 0 });
    },
  };
}

export function suspend(instance: string): Action {
  return {
    needs: ['operate'],
    name: t('do.suspend'), command: `travertine suspend ${quote(instance)}`,
    run: async (_, key) => {
      await post(`instances/${at(instance)}/suspend`, {}, { key });
      return outcome(instance, t('done.suspend'));
    },
  };
}

export function resume(instance: string): Action {
  return {
    needs: ['operate'],
    name: t('do.resume'), primary: true, command: `travertine resume ${quote(instance)}`,
    run: async (_, key) => {
      await post(`instances/${at(instance)}/resume`, {}, { key });
      return outcome(instance, t('done.resume'));
    },
  };
}

export function cancel(instance: string, shown: string): Action {
  return {
    needs: ['operate'],
    name: t('do.cancel'), title: t('act.cancel', { what: shown }), warning: t('act.cancel.warning', { what: shown }), danger: true,
    command: `travertine cancel ${quote(instance)}`,
    run: async (_, key) => {
      await post(`instances/${at(instance)}/cancel`, {}, { key });
      return outcome(instance, t('done.cancel'));
    },
  };
}

export function remove(instance: string, shown: string): Action {
  return {
    needs: ['admin'],
    name: t('do.delete'), title: t('act.delete', { what: shown }), warning: t('act.delete.warning', { what: shown }), danger: true,
    command: `travertine delete ${quote(instance)}`,
    run: async () => {
      await ask(`instances/${at(instance)}`, { method: 'DELETE' });
      route.go('instances');
      return t('done.delete', { what: shown });
    },
  };
}

export function replay(letter: string): Action {
  return {
    needs: ['message'],
    name: t('do.replay'), command: `travertine dead-letters replay ${letter}`,
    run: async (_, key) => {
      const told = await post<{ outcome?: string }>(`dead-letters/${at(letter)}/replay`, {}, { key });
      return t('done.replay', { what: letter, outcome: told?.outcome ?? '' });
    },
  };
}

export function discard(letter: string): Action {
  return {
    needs: ['message'],
    name: t('do.discard'), title: t('act.discard', { what: letter }), warning: t('act.discard.warning'), danger: true,
    command: `travertine dead-letters discard ${letter}`,
    run: async () => {
      await ask(`dead-letters/${at(letter)}`, { method: 'DELETE' });
      return t('done.discard', { what: letter });
    },
  };
}

export function schedule(verb: 'pause' | 'resume' | 'trigger', name: string): Action {
  return {
    needs: ['operate'],
    name: t(`do.${verb}`), command: `travertine schedules ${verb} ${quote(name)}`,
    run: async (_, key) => {
      await post(`schedules/${at(name)}/${verb}`, {}, { key });
      return t('done.schedule', { what: name, verb: t(`do.${verb}`) });
    },
  };
}

export function addSchedule(): Action {
  return {
    name: t('do.add'), title: t('act.schedule.add'), needs: ['start'],
    fields: [
      { name: 'name', label: t('act.name'), kind: 'text', required: true }, { name: 'definition', label: t('schedules.what'), kind: 'text', required: true },
      { name: 'cron', label: t('schedules.cron'), kind: 'text', hint: t('schedules.cron.hint') }, { name: 'every', label: t('schedules.every'), kind: 'number', hint: t('schedules.every.hint') },
      { name: 'overlap', label: t('schedules.overlap'), kind: 'select', value: 'skip', options: ['skip', 'queue', 'replace', 'allow'].map((value) => ({ value, label: t(`schedules.overlap.${value}` as Message) })) }, vars(),
    ],
    command: (values) => `travertine schedules add ${quote(values.name || 'NAME')} --start ${quote(values.definition || 'ID')}${values.cron ? ` --cron ${quote(values.cron)}` : ''}${values.every ? ` --every ${values.every}s` : ''} --overlap ${values.overlap}${flags(values)}`,
    run: async (values) => {
      await ask(`schedules/${at(values.name ?? '')}`, { method: 'PUT', body: { definition: values.definition, cron: values.cron || undefined, every_ms: values.every ? Number(values.every) * 1000 : undefined, overlap: values.overlap, variables: variables(values.variables) } });
      return t('done.schedule', { what: values.name ?? '', verb: t('do.add') });
    },
  };
}

export function removeSchedule(name: string): Action {
  return {
    needs: ['operate'],
    name: t('do.delete'), title: t('act.delete', { what: name }), warning: t('act.schedule.warning'), danger: true,
    command: `travertine schedules remove ${quote(name)}`,
    run: async () => {
      await ask(`schedules/${at(name)}`, { method: 'DELETE' });
      return t('done.delete', { what: name });
    },
  };
}

export interface Way {
  operation: string;
  path: { [name: string]: string };
  fields: { [name: string]: Json };
}

/** The action that a way out means, where the page has one. */
export function ofWay(way: Way): Action | null {
  const text = (it: Json | undefined) => (it === undefined || it === null ? '' : typeof it === 'string' ? it : write(it));
  const given = way.fields.variables && Object.keys(way.fields.variables as object).length ? write(way.fields.variables, 2) : '{}';
  const { instance = '', job = '', task = '', timer = '', wait = '' } = way.path;
  switch (way.operation) {
    case 'completeJob': return completeJob(job, given);
    case 'failJob': return failJob(job);
    case 'raiseError': return raiseError(job);
    case 'completeTask': return completeTask(task, given);
    case 'claimTask': return claimTask(task, '');
    case 'fireTimer': return fireTimer(timer);
    case 'moveTimer': return moveTimer(timer);
    case 'completeWait': return completeWait(wait);
    case 'resolveInstance': return resolve(instance, text(way.fields.token) || undefined);
    case 'setVariables': return setVariables(instance, undefined, given);
    case 'publishMessage': return publish(text(way.fields.name), write(way.fields.correlate ?? {}, 2), text(way.fields.instance) || undefined);
    case 'broadcastSignal': return signal(text(way.fields.name));
    case 'resumeInstance': return resume(instance);
    default: return null;
  }
}
