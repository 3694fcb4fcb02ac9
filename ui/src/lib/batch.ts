// The same done with many instances, by the server: it goes on when this page is closed.
import { acts, type Action } from './act.svelte';
import { ask, post } from './api';
import type { Json } from './json';
import { route } from './router.svelte';
import { t } from './text.svelte';
import { quote } from './act.svelte';

export interface Batch {
  batch: string;
  operation: string;
  arguments: { [name: string]: Json };
  filter: string;
  who: string | null;
  state: 'running' | 'paused' | 'ending' | 'completed' | 'cancelled';
  total: number;
  seen: number;
  done: number;
  refused: number;
  gone: number;
  per_second: number | null;
  began: string;
  ended: string | null;
}

export interface Wish {
  operation: string;
  q?: string;
  instances?: string[];
  [argument: string]: unknown;
}

/** How many instances it would be. */
export async function counted(wish: Wish): Promise<number> {
  return (await post<{ count: number }>('batches', { ...wish, dry_run: true })).count;
}

/** Begins a batch, and shows how it goes on. */
export async function begin(wish: Wish, key: string): Promise<string> {
  const batch = await post<Batch>('batches', wish, { key });
  route.go(`operations?batch=${batch.batch}`);
  return t('batch.begun', { count: batch.total });
}

/** How it then is: when it is over, or after some seconds. */
export async function followed(batch: Batch): Promise<Batch> {
  let told = batch;
  for (const until = Date.now() + 10_000; told.ended === null && Date.now() < until; ) {
    await new Promise((done) => setTimeout(done, 250));
    told = await ask<Batch>(`batches/${batch.batch}`);
  }
  return told;
}

export function command(wish: Wish): string {
  return `curl ${quote(new URL('../api/1/batches', document.baseURI).href)} --json ${quote(JSON.stringify(wish))}`;
}

/** Counts first, then asks, then begins. */
export async function propose(name: string, wish: Wish, more: Partial<Action> = {}): Promise<void> {
  try {
    const count = await counted(wish);
    if (count === 0) return void acts.say(t('batch.none', { verb: name }), true);
    acts.begin({
      name, needs: ['operate'], title: t('act.many', { verb: name, count }), warning: t('batch.warning', { count }), command: command(wish),
      run: (_, key) => begin(wish, key), ...more,
    });
  } catch (error) {
    acts.say(error instanceof Error ? error.message : String(error), true);
  }
}

export function act(verb: 'pause' | 'resume' | 'cancel', batch: string): Action {
  return {
    name: t(`do.${verb}`), needs: ['operate', 'admin'], danger: verb === 'cancel',
    ...(verb === 'cancel' ? { title: t('batch.cancel', { batch }), warning: t('batch.cancel.warning') } : {}),
    command: `curl -X POST ${quote(new URL(`../api/1/batches/${batch}/${verb}`, document.baseURI).href)}`,
    run: async (_, key) => {
      const told = await ask<Batch>(`batches/${batch}/${verb}`, { method: 'POST', body: {}, key });
      return t('batch.state', { batch, state: told.state });
    },
  };
}
