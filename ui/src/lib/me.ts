// Who uses the page, and what they may do: asked when the page begins, and after each login.
import { ask, Fault } from './api';
import { ready } from './ready';
import { session } from './session.svelte';

interface Me {
  name: string | null;
  login: boolean;
  permissions: { [permission: string]: string };
}

export async function whoAmI(): Promise<void> {
  ready.begin();
  try {
    const me = await ask<Me>('me');
    session.name = me.name ?? session.name;
    session.permissions = me.permissions;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // A server that does not say it refuses by itself.
    if (error.status === 404) session.permissions = Object.fromEntries(['deploy', 'read', 'start', 'operate', 'work', 'task', 'message', 'decide'].map((it) => [it, 'all']));
  } finally {
    ready.end();
  }
}
