import { Mutex } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

/** Numbers choose among clients and waiters. */
export type Step =
  | { readonly type: 'acquire' | 'try' | 'expire'; readonly client: number }
  | { readonly type: 'release' | 'force' | 'renew' }
  | { readonly type: 'cancel'; readonly waiter: number };

/** The result of a step or an inspection, and that of the model. */
export interface Comparison {
  readonly seen: unknown;
  readonly expected: unknown;
}

/** A lock beside what it should be: one holder and an array of waiters. */
export class MutexModel {
  readonly #redis: Redis;
  readonly #mutexes: readonly Mutex[];
  readonly #leaseKey: string;
  readonly #leases = new Map<number, Lease>();
  readonly #tokens: number[] = [];
  readonly #waits: Promise<unknown>[] = [];
  #holder: number | undefined;
  #waiting: { readonly id: number; readonly controller: AbortController }[] = [];

  constructor(redis: Redis, clients: readonly Redis[], prefix: string) {
    this.#redis = redis;
    this.#mutexes = clients.map((client) => new Mutex(client, 'lock', { prefix }));
    this.#leaseKey = `${prefix}:locks:{lock}:lease`;
  }

  /** @param id Unique among the steps of a run. */
  async take(id: number, step: Step): Promise<Comparison> {
    const lease = this.#holder === undefined ? undefined : this.#leases.get(this.#holder);
    switch (step.type) {
      case 'acquire':
        this.#acquire(id, step.client);
        return { seen: true, expected: true };
      case 'try':
        return this.#try(id, step.client);
      case 'expire':
        await this.#redis.del(this.#leaseKey);
        this.#next();
        // Nobody looks at once; the next who tries finds it out.
        return this.#try(id, step.client);
      case 'cancel':
        this.#waiting[step.waiter]?.controller.abort();
        this.#waiting = this.#waiting.filter((_, index) => index !== step.waiter);
        return { seen: true, expected: true };
      case 'renew':
        return { seen: await lease?.renew(), expected: undefined };
      case 'release':
        this.#next();
        return { seen: await lease?.release(), expected: lease && true };
      case 'force':
        this.#next();
        return { seen: await this.#mutexes[0]!.forceRelease(), expected: lease !== undefined };
      default:
        throw new TypeError(`unknown step ${String(step satisfies never)}`);
    }
  }

  async look(): Promise<Comparison> {
    const id = this.#holder;
    const lease = id === undefined ? undefined : await until('the grant', () => this.#leases.get(id));
    const { holder, fencingToken, queueLength } = await until('the queue', async () => {
      const state = await this.#mutexes[0]!.inspect();
      return state.queueLength === this.#waiting.length && state;
    });
    return {
      seen: { holder, fencingToken, queueLength, tokens: this.#tokens },
      expected: {
        holder: lease?.holder ?? null,
        fencingToken: this.#tokens.at(-1) ?? null,
        queueLength: this.#waiting.length,
        tokens: [...new Set(this.#tokens)].toSorted((a, b) => a - b),
      },
    };
  }

  /** Ends all waits and the hold. */
  async end(): Promise<void> {
    for (const { controller } of this.#waiting) controller.abort();
    if (this.#holder !== undefined) await this.#leases.get(this.#holder)?.release();
    await Promise.all(this.#waits);
  }

  #acquire(id: number, client: number): void {
    const controller = new AbortController();
    const wait = this.#mutexes[client]!.acquire({ signal: controller.signal });
    this.#waits.push(wait.then((lease) => this.#granted(id, lease)).catch((error: unknown) => error));
    if (this.#holder === undefined) this.#holder = id;
    else this.#waiting.push({ id, controller });
  }

  async #try(id: number, client: number): Promise<Comparison> {
    const lease = await this.#mutexes[client]!.tryAcquire();
    if (lease) this.#granted(id, lease);
    const isFree = this.#holder === undefined;
    this.#holder ??= id;
    return { seen: lease !== null, expected: isFree };
  }

  #granted(id: number, lease: Lease): void {
    this.#tokens.push(lease.fencingToken);
    this.#leases.set(id, lease);
  }

  #next(): void {
    this.#holder = this.#waiting.shift()?.id;
  }
}
