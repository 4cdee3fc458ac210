import { Semaphore } from '@mortise/locks';
import type { Lease } from '@mortise/locks';
import { until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import type { Comparison } from '../fixture/mutex-model.js';

/** Numbers choose among clients, holders and waiters. */
export type Step =
  | { readonly type: 'acquire' | 'try'; readonly client: number; readonly permits: number }
  | { readonly type: 'expire'; readonly holder: number; readonly client: number }
  | { readonly type: 'release' | 'releaseFor' | 'renew'; readonly holder: number }
  | { readonly type: 'cancel'; readonly waiter: number }
  | { readonly type: 'setPermits'; readonly client: number; readonly permits: number };

interface Request {
  readonly id: number;
  readonly permits: number;
  readonly controller?: AbortController;
}

/** A semaphore beside what it should be: two arrays and a limit. */
export class SemaphoreModel {
  readonly #redis: Redis;
  readonly #clients: readonly Redis[];
  readonly #prefix: string;
  readonly #leases = new Map<number, Lease>();
  readonly #waits: Promise<unknown>[] = [];
  /** In the order in which they should have been granted, all that ever were. */
  readonly #granted: number[] = [];
  #semaphores: Semaphore[];
  #limit = 3;
  #holders: Request[] = [];
  #waiting: Request[] = [];

  constructor(redis: Redis, clients: readonly Redis[], prefix: string) {
    this.#redis = redis;
    this.#clients = clients;
    this.#prefix = prefix;
    this.#semaphores = this.#anew();
  }

  /** @param id Unique among the steps of a run. */
  async take(id: number, step: Step): Promise<Comparison> {
    switch (step.type) {
      case 'acquire':
        this.#acquire(id, step);
        return { seen: true, expected: true };
      case 'try':
        return this.#try(id, step);
      case 'cancel':
        this.#waiting[step.waiter]?.controller?.abort();
        this.#waiting = this.#waiting.filter((_, index) => index !== step.waiter);
        this.#grant();
        return { seen: true, expected: true };
      case 'setPermits':
        this.#limit = step.permits;
        await this.#semaphores[step.client]!.setPermits(step.permits);
        this.#semaphores = this.#anew(step.client);
        this.#grant();
        return { seen: true, expected: true };
      case 'renew': {
        const lease = this.#leaseOf(step.holder);
        return { seen: await lease?.renew(), expected: undefined };
      }
      case 'release': {
        const lease = this.#leaseOf(step.holder);
        this.#drop(step.holder);
        return { seen: await lease?.release(), expected: lease && true };
      }
      case 'releaseFor': {
        const lease = this.#leaseOf(step.holder);
        this.#drop(step.holder);
        return {
          seen: lease && (await this.#semaphores[0]!.releaseFor(lease.holder)),
          expected: lease && true,
        };
      }
      case 'expire': {
        const lease = this.#leaseOf(step.holder);
        // The next renewal is far away then.
        await lease?.renew();
        if (lease) await this.#redis.zadd(`${this.#prefix}:locks:{pool}:permits`, 'XX', 1, lease.holder);
        this.#drop(step.holder);
        // Nobody looks at once; the next who tries finds it out.
        return this.#try(id, { client: step.client, permits: 1 });
      }
      default:
        throw new TypeError(`unknown step ${String(step satisfies never)}`);
    }
  }

  async look(): Promise<Comparison> {
    await until('the grants', () => this.#granted.every((id) => this.#leases.has(id)));
    const state = await until('the queue', async () => {
      const seen = await this.#semaphores[0]!.inspect();
      return seen.queueLength === this.#waiting.length && seen;
    });
    const tokens = this.#granted.map((id) => this.#leases.get(id)!.fencingToken);
    return {
      seen: {
        limit: state.limit,
        used: state.used,
        holders: new Map(state.holders.map(({ holder, permits }) => [holder, permits])),
        tokens,
      },
      expected: {
        limit: this.#limit,
        used: this.#used,
        holders: new Map(this.#holders.map(({ id, permits }) => [this.#leases.get(id)!.holder, permits])),
        tokens: [...new Set(tokens)].toSorted((a, b) => a - b),
      },
    };
  }

  /** Ends all waits and holds. */
  async end(): Promise<void> {
    for (const { controller } of this.#waiting) controller?.abort();
    await Promise.all(this.#waits);
    await Promise.all(Array.from(this.#leases.values(), (lease) => lease.release()));
  }

  get #used(): number {
    return this.#holders.reduce((sum, { permits }) => sum + permits, 0);
  }

  /** Objects with the present limit, but for the one that follows it. */
  #anew(follower?: number): Semaphore[] {
    const options = { prefix: this.#prefix, permits: this.#limit };
    return this.#clients.map((client, index) =>
      index === follower ? this.#semaphores[index]! : new Semaphore(client, 'pool', options),
    );
  }

  #leaseOf(holder: number): Lease | undefined {
    const request = this.#holders[holder];
    return request && this.#leases.get(request.id);
  }

  #drop(holder: number): void {
    this.#holders = this.#holders.filter((_, index) => index !== holder);
    this.#grant();
  }

  #acquire(id: number, { client, permits }: { readonly client: number; readonly permits: number }): void {
    const controller = new AbortController();
    const wait = this.#semaphores[client]!.acquire({ permits, signal: controller.signal });
    this.#waits.push(wait.then((lease) => this.#leases.set(id, lease)).catch((error: unknown) => error));
    this.#waiting.push({ id, permits, controller });
    this.#grant();
  }

  async #try(
    id: number,
    { client, permits }: { readonly client: number; readonly permits: number },
  ): Promise<Comparison> {
    const lease = await this.#semaphores[client]!.tryAcquire({ permits });
    if (lease) this.#leases.set(id, lease);
    const fits = this.#waiting.length === 0 && this.#used + permits <= this.#limit;
    if (fits) {
      this.#waiting.push({ id, permits });
      this.#grant();
    }
    return { seen: lease !== null, expected: fits };
  }

  #grant(): void {
    for (;;) {
      const [head] = this.#waiting;
      if (!head || this.#used + head.permits > this.#limit) return;
      this.#waiting.shift();
      this.#holders.push(head);
      this.#granted.push(head.id);
    }
  }
}
