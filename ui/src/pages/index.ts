// Which page an address is. Those that are seldom needed are fetched when they are.
import type { Component } from 'svelte';
import Dashboard from './Dashboard.svelte';
import Missing from './Missing.svelte';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyPage = Component<any>;

export interface Shown {
  /** Another key is another page; the same one stays as it is, and reads its choices anew. */
  key: string;
  load: () => Promise<AnyPage>;
  props: Record<string, string>;
}

const here = (page: AnyPage) => () => Promise.resolve(page);
const operate = (name: keyof typeof import('./operate')) => () => import('./operate').then((it) => it[name] as AnyPage);
const make = (name: keyof typeof import('./make')) => () => import('./make').then((it) => it[name] as AnyPage);
const instance = () => import('./instance/Instance.svelte').then((it) => it.default as AnyPage);

export function pageOf(parts: string[]): Shown {
  const [first = '', second = ''] = parts;
  const page = (load: () => Promise<AnyPage>, props: Record<string, string> = {}): Shown => ({ key: [first, ...Object.values(props)].join('/'), load, props });
  const deeper = second !== '' && parts.length === 2;
  if (first === 'instances' && second && parts[2] === 'modify' && parts.length === 3) return page(() => import('./instance/Modify.svelte').then((it) => it.default as AnyPage), { id: second, modify: 'yes' });
  if (parts.length > 2) return page(here(Missing));
  switch (first) {
    case '': return page(here(Dashboard));
    case 'processes': return deeper ? page(operate('Process'), { id: second }) : page(operate('Processes'));
    case 'instances': return deeper ? page(instance, { id: second }) : page(operate('Instances'));
    case 'incidents': return page(operate('Incidents'));
    case 'jobs': return page(operate('Jobs'));
    case 'timers': return page(operate('Timers'));
    case 'messages': return page(operate('Messages'));
    case 'schedules': return page(operate('Schedules'));
    case 'tasks': return deeper ? page(operate('Tasks'), { id: second }) : page(operate('Tasks'));
    case 'start': return page(make('Start'));
    case 'deploy': return page(make('Deploy'));
    case 'decisions': return deeper ? page(make('Decision'), { id: second }) : page(make('Decisions'));
    case 'feel': return page(make('Feel'));
    case 'migrate': return page(() => import('./Migrate.svelte').then((it) => it.default as AnyPage));
    case 'operations': return page(operate('Operations'));
    case 'model': return deeper ? page(() => import('./Model.svelte').then((it) => it.default as AnyPage), { id: second }) : page(make('Models'));
    case 'play': return page(() => import('./Play.svelte').then((it) => it.default as AnyPage), deeper ? { id: second } : {});
    case 'access': return page(make('Access'));
    case 'cluster': return page(make('Cluster'));
    case 'settings': return page(make('Settings'));
    case 'about': return page(make('About'));
    default: return page(here(Missing));
  }
}
