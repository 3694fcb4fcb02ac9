// The API of the server this page comes from, and of no other.
import { parse, write, type Json } from './json';
import { BadJson } from './json';
import { session } from './session.svelte';

/** Where the API is, whatever path a proxy has put the server at. */
export const root = new URL('../api/1/', document.baseURI).pathname;

/** Why the server did not do what it was asked. */
export class Fault extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly body: { [name: string]: Json } = {},
  ) {
    super(detail);
  }
  /** Nobody answers: the server is away, or the network. */
  get away(): boolean {
    return this.status === 0;
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return root + path + (text ? `?${text}` : '');
}

interface Ask {
  method?: string;
  query?: Query;
  body?: unknown;
  form?: FormData;
  signal?: AbortSignal;
  /** The same key for the same wish: who asks again after an answer was lost does it once. */
  key?: string;
}

async function send(path: string, ask: Ask): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json, image/svg+xml, */*;q=0.1' };
  const method = ask.method ?? 'GET';
  if (ask.body !== undefined) headers['content-type'] = 'application/json';
  if (method === 'POST') headers['idempotency-key'] = ask.key ?? newKey();
  if (session.authorization) headers.authorization = session.authorization;
  if (method !== 'GET' && session.token) headers['x-csrf-token'] = session.token;
  const body = ask.form ?? (ask.body === undefined ? undefined : write(ask.body));
  let response: Response;
  try {
    const init: RequestInit = { method, headers, credentials: 'omit' };
    if (body !== undefined) init.body = body;
    if (ask.signal) init.signal = ask.signal;
    response = await fetch(address(path, ask.query), init);
  } catch (error) {
    if (ask.signal?.aborted) throw error;
    throw new Fault(0, 'away', 'the server does not answer');
  }
  if (response.ok) return response;
  const text = await response.text();
  let said: { [name: string]: Json } = {};
  try {
    said = parse(text) as { [name: string]: Json };
  } catch (error) {
    if (!(error instanceof BadJson)) throw error;
  }
  if (response.status === 401) session.lost();
  const word = (name: string) => (typeof said[name] === 'string' ? (said[name] as string) : '');
  throw new Fault(response.status, word('code') || word('title'), word('detail') || word('title') || `status ${response.status}`, said);
}

export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('');
}

/** Asks, and reads the answer with all its digits. */
export async function ask<T>(path: string, how: Ask = {}): Promise<T> {
  const response = await send(path, how);
  const text = await response.text();
  return (text === '' ? null : parse(text)) as T;
}

export async function askText(path: string, how: Ask = {}): Promise<string> {
  return (await send(path, how)).text();
}

export function post<T>(path: string, body: unknown = {}, how: Ask = {}): Promise<T> {
  return ask<T>(path, { ...how, method: 'POST', body });
}
