import { ReadWriteLock } from '@mortise/locks';
import type { Lease, WriteLease } from '@mortise/locks';
import { until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import type { Comparison } from '../fixture/mutex-model.js';
import { roundTrips } from '../fixture/round-trips.js';

export type Side = 'read' | 'write';

/** Numbers choose among clients, holders and waiters. */
export type ReadWriteStep =
  | { readonly type: 'acquire' | 'try'; readonly side: Side; readonly client: number }
  | { readonly type: 'release' | 'renew' | 'downgrade'; readonly holder: number }
  | { readonly type: 'expire'; readonly holder: number; readonly side: Side; readonly client: number }
  | { readonly type: 'force'; readonly side: Side }
  | { readonly type: 'cancel'; readonly waiter: number };

interface Visitor {
  readonly id: string;
  readonly side: Side;
  readonly controller: AbortController;
}

/** A lock beside what it should be: those who are in, and an array of those who wait. */
export class ReadWriteLockModel {
  readonly #redis: Redis;
  readonly #clients: readonly Redis[];
  readonly #locks: readonly ReadWriteLock[];
  readonly #keys: Readonly<Record<Side, string>>;
  readonly #leases = new Map<string, Lease>();
  /** Everybody who was let in so far, in the order in which tokens were due. */
  readonly #order: string[] = [];
  readonly #tokens = new Map<string, number>();
  readonly #waits: Promise<unknown>[] = [];
  #inside: Visitor[] = [];
  #waiting: Visitor[] = [];

  constructor(redis: Redis, clients: readonly Redis[], prefix: string) {
    this.#redis = redis;
    this.#clients = clients;
    this.#locks = clients.map((client) => new ReadWriteLock(client, 'lock', { prefix }));
    this.#keys = { read: `${prefix}:locks:{lock}:readers`, write: `${prefix}:locks:{lock}:write` };
  }

  /** @param index Unique among the steps of a run. */
  async take(index: number, step: ReadWriteStep): Promise<Comparison> {
    const holder = 'holder' in step ? this.#inside[step.holder % this.#inside.length] : undefined;
    const lease = holder && this.#leases.get(holder.id)!;
    switch (step.type) {
      case 'acquire':
        this.#acquire({ id: `${index}`, side: step.side, controller: new AbortController() }, step.client);
        return { seen: true, expected: true };
      case 'try':
        return this.#try(`${index}`, step.side, step.client);
      case 'expire':
        if (holder?.side === 'write') await this.#redis.del(this.#keys.write);
        else if (lease) await this.#redis.zrem(this.#keys.read, lease.holder);
        this.#leave(holder);
        // Nobody looks at once; the next who tries finds it out.
        return this.#try(`${index}`, step.side, step.client);
      case 'cancel': {
        const [cancelled] = this.#waiting.splice(step.waiter, 1);
        cancelled?.controller.abort();
        this.#letIn();
        return { seen: true, expected: true };
      }
      case 'renew':
        return { seen: await lease?.renew(), expected: undefined };
      case 'release':
        this.#leave(holder);
        return { seen: await lease?.release(), expected: lease && true };
      case 'downgrade':
        return holder?.side === 'write' ? this.#downgrade(holder) : { seen: true, expected: true };
      case 'force': {
        const forced = this.#inside.filter(({ side }) => side === step.side);
        this.#inside = this.#inside.filter(({ side }) => side !== step.side);
        this.#letIn();
        return { seen: await this.#locks[0]![step.side].forceRelease(), expected: forced.length > 0 };
      }
      default:
        throw new TypeError(`unknown step ${String(step satisfies never)}`);
    }
  }

  async look(): Promise<Comparison> {
    const expected = await Promise.all(
      this.#inside.map(({ id }) => until(`lease ${id}`, () => this.#leases.get(id))),
    );
    const holders = expected.map(({ holder }) => holder).toSorted();
    const state = await until('the queue', async () => {
      const look = await this.#locks[0]!.read.inspect();
      return look.queueLength === this.#waiting.length && look;
    });
    // One that is let in before it listens comes back with a re-check, behind others.
    await Promise.all(this.#clients.map((client) => roundTrips(client)));
    const tokens = this.#order.map((id) => this.#tokens.get(id)!);
    const isWritten = this.#inside[0]?.side === 'write';
    return {
      seen: {
        writer: state.writer,
        readers: state.firstReaders.toSorted(),
        count: state.readers,
        // A re-check that meets a grant on its way gives a reader one more.
        isTokenKnown: (state.fencingToken ?? 0) >= (tokens.at(-1) ?? 0),
        tokens,
        admitted: this.#tokens.size,
      },
      expected: {
        writer: isWritten ? holders[0] : null,
        readers: isWritten ? [] : holders,
        count: isWritten ? 0 : holders.length,
        isTokenKnown: true,
        tokens: [...new Set(tokens)].toSorted((a, b) => a - b),
        admitted: this.#order.length,
      },
    };
  }

  /** Ends all waits and all holds. */
  async end(): Promise<void> {
    for (const { controller } of this.#waiting) controller.abort();
    for (const { id } of this.#inside) await this.#leases.get(id)?.release();
    await Promise.all(this.#waits);
  }

  #acquire(visitor: Visitor, client: number): void {
    const wait = this.#locks[client]![visitor.side].acquire({ signal: visitor.controller.signal });
    this.#waits.push(wait.then((lease) => this.#granted(visitor.id, lease)).catch((error: unknown) => error));
    this.#waiting.push(visitor);
    this.#letIn();
  }

  async #try(id: string, side: Side, client: number): Promise<Comparison> {
    const isFree =
      this.#waiting.length === 0 && this.#inside.every((other) => side === 'read' && other.side === 'read');
    const lease = await this.#locks[client]![side].tryAcquire();
    if (lease) {
      this.#granted(id, lease);
      this.#enter({ id, side, controller: new AbortController() });
    }
    return { seen: lease !== null, expected: isFree };
  }

  async #downgrade(writer: Visitor): Promise<Comparison> {
    const reader = { ...writer, id: `${writer.id} as a reader`, side: 'read' as const };
    this.#inside = [];
    this.#enter(reader);
    this.#letIn();
    const lease = await (this.#leases.get(writer.id) as WriteLease).downgrade();
    this.#granted(reader.id, lease);
    return { seen: lease.isValid, expected: true };
  }

  #granted(id: string, lease: Lease): void {
    this.#tokens.set(id, lease.fencingToken);
    this.#leases.set(id, lease);
  }

  #enter(visitor: Visitor): void {
    this.#inside.push(visitor);
    this.#order.push(visitor.id);
  }

  #leave(visitor: Visitor | undefined): void {
    this.#inside = this.#inside.filter((other) => other !== visitor);
    this.#letIn();
  }

  #letIn(): void {
    for (;;) {
      const [head] = this.#waiting;
      if (!head) return;
      const isFree = this.#inside.every(({ side }) => side === 'read' && head.side === 'read');
      if (!isFree) return;
      this.#waiting.shift();
      this.#enter(head);
    }
  }
}
