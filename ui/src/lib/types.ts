// What the API answers with, as far as the page reads it. Names are those of «The data» in docs/store.md.
import type { Digits, Json } from './json';

export type Number = number | Digits;

export interface InstanceRow {
  instance: string;
  business_id: string | null;
  definition: string;
  version: number;
  state: string;
  started: string;
  ended: string | null;
  caller: string | null;
  root: string;
  incident_count: number;
  reason: string | null;
  result?: Json;
  variables?: { [name: string]: Json };
}

export interface DefinitionRow {
  definition: string;
  version: number;
  kind: 'process' | 'function' | 'decision' | 'form' | 'resource';
  tag: string | null;
  name: string | null;
  key: string;
  deployment: string | null;
  file: string | null;
  used: boolean | null;
  retired: boolean;
}

export interface Wait {
  token: string;
  element: string;
  label: string | null;
  operation: string | null;
  kind: string;
  wait: string | null;
  why: string;
  way_out: string | null;
  failure: { [name: string]: Json } | null;
  ways?: import('./actions').Way[];
}

export interface TokenRow {
  token: string;
  element: string;
  state: string;
  scope: boolean;
  progress: string | null;
  inside: number;
}

export interface JobRow {
  job: string;
  instance: string;
  token: string;
  element: string;
  type: string;
  state: string;
  retries: number;
  priority: number;
  worker: string | null;
  until: string | null;
  created: string;
  definition?: string;
  business_id?: string | null;
}

export interface TaskRow {
  task: string;
  instance: string;
  token: string;
  element: string;
  label: string | null;
  assignee: string | null;
  candidate_users: Json;
  candidate_groups: Json;
  due: string | null;
  follow_up: string | null;
  priority: number | null;
  form: string | null;
  fields: Json;
  created: string;
  definition?: string;
  version?: number;
  business_id?: string | null;
}

export interface TimerRow {
  timer: string;
  instance: string | null;
  definition: string;
  element: string;
  due: string;
  business_id?: string | null;
}

export interface IncidentRow {
  instance: string;
  token: string;
  element: string;
  kind: string;
  code: string | null;
  message: string;
  since: string;
  definition?: string;
  version?: number;
  business_id?: string | null;
}

export interface Frame {
  kind: string;
  element: string | null;
  event: string;
  at: string;
  time: string;
  tokens?: { [element: string]: number };
  [name: string]: Json | undefined;
}

export interface Activity {
  element: string;
  label: string | null;
  kind: string;
  round: number | null;
  token: string | null;
  wait: string | null;
  started: string;
  ended: string | null;
  duration_ms: number | null;
  outcome: string;
  failure: { [name: string]: Json } | null;
  worker: string | null;
  assignee: string | null;
  failures: number;
  variables: { [name: string]: Json } | null;
}

export interface Page {
  next: string | null;
  previous?: string | null;
  total?: { count: number; exact: boolean } | null;
}
