/** The routes of locks and semaphores, at two processes of one server. */
import { expect } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';

export const redis = connect();
export const api = await startApi();
export const { prefix } = api;
export const elsewhere = await startApi({ MORTISE_PREFIX: prefix });

export const problem = (slug: string): string => `https://mortise.dev/problems/${slug}`;

/** The routes of locks, or of semaphores. */
export class Leases {
  #names = 0;

  constructor(readonly kind: 'lock' | 'semaphore') {}

  /** A name that no other test has. */
  freshName(): string {
    this.#names += 1;
    return `${this.kind}:${this.#names}`;
  }

  post(path: string, body?: object, headers: Record<string, string> = {}, at = api): Promise<Answer> {
    return at.send({ method: 'POST', path: `/v1/${this.kind}s/${path}`, headers, ...(body && { body }) });
  }

  async look(name: string): Promise<Answer['json']> {
    return (await api.send({ path: `/v1/${this.kind}s/${name}` })).json;
  }

  async take(name: string, body: object = {}): Promise<Answer['json']> {
    const { status, json } = await this.post(`${name}/acquire`, { leaseMs: 60_000, ...body });
    expect([status, json]).toEqual([201, expect.objectContaining({ name })]);
    return json;
  }

  async untilQueued(name: string, length: number): Promise<void> {
    await until(`${length} in the queue`, async () => (await this.look(name)).queueLength === length);
  }

  /** All pages of the list. */
  async list(limit: number, of: typeof api = api): Promise<Answer['json'][]> {
    return allPages(`${this.kind}s`, limit, of);
  }
}

/** A page of a slow scan may be short or empty before the last one. */
export async function allPages(list: string, limit = 200, of: typeof api = api): Promise<Answer['json'][]> {
  const items: Answer['json'][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, json } = await of.send({
      path: `/v1/${list}?limit=${limit}${cursor && `&cursor=${cursor}`}`,
    });
    expect(status).toBe(200);
    items.push(...json.items);
    cursor = json.nextCursor;
  }
  return items;
}
