/**
 * The queues that requests name, each of the tenant of the request. The settings of a queue and its number of shards are kept
 * between requests, as are the claims that wait for its tasks; for the last thousand of each, since names come from clients.
 */
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import { Claims, Overviews, Queue, queueDepthsOf, SettingsMismatchError } from '@mortise/queues';
import type { ObliterateOptions, QueueDepths } from '@mortise/queues';
import { queuePage } from '@mortise/queues/admin';
import type { QueuePage, QueuePageOptions } from '@mortise/queues/admin';
import type { RedisClient, Telemetry } from '@mortise/redis';
import { Metrics } from '@mortise/app-common/operations';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { MAIL_PRIORITIES, MAIL_QUEUE, MARKET_QUEUE } from '../market/index.js';
import { Quotas } from '../limits/quotas.js';
import { Problem } from '../problems/problem.js';
import { currentTenant, DEFAULT_TENANT, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';

const MAX_KEPT = 1_000;

/** Queues of the application itself: they are there before their first task. No other tenant has them. */
const OWN: readonly string[] = [MAIL_QUEUE, MARKET_QUEUE];
const ownQueues = (): readonly string[] => (currentTenant() === DEFAULT_TENANT ? OWN : []);
/** The default priorities. The producers of mails require them. */
const OWN_PRIORITIES: readonly string[] = MAIL_PRIORITIES;

@Injectable()
export class OpenQueues implements BeforeApplicationShutdown {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #log: Logger;
  /** By tenant and name. */
  readonly #queues = new Map<string, Queue>();
  readonly #claims = new Map<string, Claims>();

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
    @Inject(LOG) log: Logger,
    private readonly quotas: Quotas,
    private readonly metrics: Metrics,
  ) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#log = log;
  }

  /**
   * A page of the queues that are stored, in numbers. A round trip for each thousand names, and two at most. Throws ERR_INVALID_ARG for a
   * cursor.
   */
  async page(options: QueuePageOptions): Promise<QueuePage> {
    const prefix = { prefix: this.#tenantPrefix };
    return queuePage(new Overviews(this.#redis, prefix), await Queue.names(this.#redis, prefix), options);
  }

  /** The waiting tasks of a queue that is there. Three round trips at most. Throws the problem `unknown-queue`. */
  async depths(name: string): Promise<QueueDepths> {
    return this.use(name, () => queueDepthsOf(this.#redis, name, { prefix: this.#tenantPrefix }));
  }

  /** One round trip, but for the queues of the application. */
  async isThere(name: string): Promise<boolean> {
    return ownQueues().includes(name) || Queue.exists(this.#redis, name, { prefix: this.#tenantPrefix });
  }

  /** Does something with a queue that is there. Throws the problem `unknown-queue`. One round trip the first time. */
  async use<T>(name: string, act: (queue: Queue) => Promise<T>): Promise<T> {
    return this.#attempt(name, (queue, isThere) => {
      if (!isThere) throw new Problem('unknown-queue', `there is no queue "${name}"`, { queue: name });
      return act(queue);
    });
  }

  /** A queue that is there; undefined if it isn't. One round trip the first time. */
  async find(name: string): Promise<Queue | undefined> {
    return this.#attempt(name, async (queue, isThere) => (isThere ? queue : undefined));
  }

  /** Does something that may be the first that happens to a queue. Throws the problem `quota-exceeded`. */
  async found<T>(name: string, act: (queue: Queue) => Promise<T>): Promise<T> {
    return this.#attempt(name, async (queue, isThere) => {
      if (!isThere) await this.quotas.requireQueue(() => Promise.resolve(false));
      return act(queue);
    });
  }

  /** Before a queue may be created by tasks of another one. Throws the problem `quota-exceeded`. */
  requireRoomFor(name: string): Promise<void> {
    return this.quotas.requireQueue(() => this.isThere(name));
  }

  /**
   * A queue with priorities and shards of the caller's choice. Throws ERR_PRIORITIES_MISMATCH and ERR_SHARDS_MISMATCH where the
   * application has made the choice; the queue refuses others than it has by the same. Throws the problem `quota-exceeded`.
   */
  async insist(
    name: string,
    options: { readonly priorities?: readonly string[]; readonly shards?: number },
  ): Promise<Queue> {
    const { priorities = OWN_PRIORITIES, shards = 1 } = options;
    if (ownQueues().includes(name)) {
      const isOwn = priorities.join() === OWN_PRIORITIES.join();
      if (!isOwn) throw new SettingsMismatchError(name, 'priorities', priorities, OWN_PRIORITIES);
      if (shards !== 1) throw new SettingsMismatchError(name, 'shards', shards, 1);
    }
    await this.requireRoomFor(name);
    this.#queues.delete(keyOf(name));
    return new Queue(this.#redis, name, { ...options, prefix: this.#tenantPrefix, ...this.#measured() });
  }

  /** Removes a queue that is there, and forgets its settings. Throws the problem `unknown-queue`. */
  async obliterate(name: string, options: ObliterateOptions): Promise<void> {
    await this.use(name, (queue) => queue.obliterate(options));
    this.#queues.delete(keyOf(name));
  }

  /** The claims that wait for tasks of this queue, even if it does not exist. */
  claims(name: string): Claims {
    const [key, tenant] = [keyOf(name), currentTenant()];
    const kept = this.#claims.get(key);
    const claims =
      kept ??
      new Claims(this.#redis, name, {
        prefix: this.#tenantPrefix,
        ...this.#measured(),
        onError: (err) => this.#log.warn({ err, tenant, queue: name }, 'claims of a queue'),
      });
    keep(this.#claims, key, claims);
    const idle = this.#claims.size > MAX_KEPT && [...this.#claims].find(([, { waiting }]) => waiting === 0);
    if (idle) {
      this.#claims.delete(idle[0]);
      void idle[1].stop();
    }
    return claims;
  }

  /** The same, of a queue that is there. Throws the problem `unknown-queue`. */
  async knownClaims(name: string): Promise<Claims> {
    return this.use(name, async () => this.claims(name));
  }

  /** When nobody waits any more, and before the client is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#claims.values()].map((claims) => claims.stop()));
  }

  /** Tenants choose names of queues, which would each be a series of their own. */
  #measured(): { telemetry?: Telemetry } {
    const { telemetry, spans } = this.metrics;
    if (currentTenant() === DEFAULT_TENANT) return { telemetry };
    return spans ? { telemetry: spans } : {};
  }

  get #tenantPrefix(): string {
    return prefixOf(this.#prefix, currentTenant());
  }

  async #attempt<T>(name: string, act: (queue: Queue, isThere: boolean) => Promise<T>): Promise<T> {
    const [queue, isThere] = await this.#open(name);
    try {
      return await act(queue, isThere);
    } catch (error) {
      const isResharded = error instanceof SettingsMismatchError && error.code === 'ERR_SHARDS_MISMATCH';
      if (!isResharded) throw error;
      // Another process created the queue with shards after the look at it.
      this.#queues.delete(keyOf(name));
      return act(...(await this.#open(name)));
    }
  }

  /** One that isn't there yet may come to have other settings than it seems to, so it is not kept. */
  async #open(name: string): Promise<[Queue, boolean]> {
    const [key, prefix] = [keyOf(name), this.#tenantPrefix];
    const kept = this.#queues.get(key);
    if (kept) {
      keep(this.#queues, key, kept);
      return [kept, true];
    }
    const isStored = await Queue.exists(this.#redis, name, { prefix });
    const queue = new Queue(this.#redis, name, { prefix, ...this.#measured() });
    if (!isStored) return [queue, ownQueues().includes(name)];
    keep(this.#queues, key, queue);
    if (this.#queues.size > MAX_KEPT) this.#queues.delete(this.#queues.keys().next().value!);
    return [queue, true];
  }
}

/** A tenant has no space in its id. */
function keyOf(name: string): string {
  return `${currentTenant()} ${name}`;
}

/** As the one that was used last. */
function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  kept.delete(key);
  kept.set(key, value);
}
