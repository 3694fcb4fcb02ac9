// The places of the page: the rail, the palette and the keys of `g` show the same.
import type { Message } from './text.svelte';

export interface Place {
  path: string;
  name: Message;
  group: 'operate' | 'work' | 'make' | 'care';
  keys?: string;
  /** One of these permissions is needed. */
  needs?: string[];
}

export const places: Place[] = [
  { path: '', name: 'page.dashboard', group: 'operate', keys: 'g d' },
  { path: 'processes', needs: ['read'], name: 'page.processes', group: 'operate', keys: 'g p' },
  { path: 'instances?q=state:running', name: 'page.instances', group: 'operate', keys: 'g i' },
  { path: 'incidents', needs: ['read'], name: 'page.incidents', group: 'operate', keys: 'g x' },
  { path: 'jobs', needs: ['read'], name: 'page.jobs', group: 'operate', keys: 'g j' },
  { path: 'timers', needs: ['read'], name: 'page.timers', group: 'operate', keys: 'g r' },
  { path: 'messages', needs: ['read'], name: 'page.messages', group: 'operate', keys: 'g m' },
  { path: 'operations', needs: ['read'], name: 'page.operations', group: 'operate', keys: 'g o' },
  { path: 'schedules', needs: ['read'], name: 'page.schedules', group: 'operate', keys: 'g s' },
  { path: 'tasks', name: 'page.tasks', group: 'work', keys: 'g t' },
  { path: 'start', needs: ['start'], name: 'page.start', group: 'work', keys: 'g n' },
  { path: 'model', name: 'page.models', group: 'make', keys: 'g e' },
  { path: 'play', needs: ['deploy'], name: 'page.play', group: 'make', keys: 'g y' },
  { path: 'deploy', needs: ['deploy'], name: 'page.deploy', group: 'make', keys: 'g u' },
  { path: 'migrate', needs: ['operate'], name: 'page.migrate', group: 'make' },
  { path: 'decisions', needs: ['read'], name: 'page.decisions', group: 'make' },
  { path: 'feel', needs: ['decide'], name: 'page.feel', group: 'make', keys: 'g f' },
  { path: 'access', needs: ['admin'], name: 'page.access', group: 'care', keys: 'g a' },
  { path: 'cluster', name: 'page.cluster', group: 'care' },
  { path: 'settings', name: 'page.settings', group: 'care' },
  { path: 'about', name: 'page.about', group: 'care' },
];
