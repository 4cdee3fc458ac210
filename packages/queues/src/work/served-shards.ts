/**
 * The shards that a worker serves: shard 0 of each queue, and the others once the worker knows their number. It learns the number
 * from the first reply, or later: when a producer creates the queue, or `reshard` adds shards.
 */
import type { RedisClient } from '@mortise/redis';
import { isClosed } from '@mortise/redis';
import { Shard } from '../shard/shard.js';
import { HandlerNames } from './handler-names.js';
import type { Service } from './service.js';
import type { ShardOptions } from './shard-services.js';
import { ShardServices } from './shard-services.js';

interface Options extends Omit<ShardOptions, 'names' | 'isOnlyQueue' | 'onSettings'> {
  /** Names of tasks of a queue that the worker handles. */
  readonly handledIn: (queue: string) => readonly string[];
}

export class ServedShards implements Service {
  readonly #redis: RedisClient;
  readonly #queues: readonly string[];
  readonly #options: Options;
  readonly #served: ShardServices[] = [];
  readonly #names = new Map<string, HandlerNames>();
  #state: 'new' | 'fetching' | 'paused' | 'leaving' = 'new';

  constructor(redis: RedisClient, queues: readonly string[], options: Options) {
    this.#redis = redis;
    this.#queues = queues;
    this.#options = options;
  }

  /** How long the shard that is silent for the longest time has been so. */
  get silentMs(): number {
    return Math.max(...this.#served.map(({ fetcher }) => fetcher.silentMs));
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'fetching';
    for (const queue of this.#queues) this.#add(queue, 0);
    for (const names of this.#names.values()) names.start();
    for (const services of this.#served) services.start();
  }

  pause(): void {
    if (this.#state === 'fetching') this.#state = 'paused';
    for (const { fetcher } of this.#served) fetcher.pause();
  }

  resume(): void {
    if (this.#state === 'paused') this.#state = 'fetching';
    for (const { fetcher } of this.#served) fetcher.resume();
  }

  /** Fetches no tasks from now on; completions are still acked. */
  leave(): void {
    this.#state = 'leaving';
    for (const { fetcher } of this.#served) fetcher.leave();
  }

  async stop(withinMs: number): Promise<void> {
    this.leave();
    // A closed client sends nothing.
    const waitMs = isClosed(this.#redis) ? 0 : withinMs;
    const names = [...this.#names.values()].map((one) => one.stop());
    await Promise.all([...names, ...this.#served.map((services) => services.stop(waitMs))]);
  }

  #add(queue: string, index: number): ShardServices {
    const { prefix, codecs } = this.#options.options;
    const shard = new Shard(this.#redis, queue, prefix, index, {}, codecs);
    const { handledIn, ...options } = this.#options;
    const names = this.#names.get(queue) ?? new HandlerNames(shard, handledIn(queue), options.reporter);
    this.#names.set(queue, names);
    const services = new ShardServices(shard, {
      ...options,
      names,
      isOnlyQueue: this.#queues.length === 1,
      onSettings: () => this.#addOthers(shard),
    });
    this.#served.push(services);
    return services;
  }

  #addOthers({ queue, index, settings }: Shard): void {
    if (index !== 0 || this.#state === 'leaving') return;
    const known = this.#served.filter(({ shard }) => shard.queue === queue).length;
    for (let next = known; next < settings.values.servedShards; next += 1) {
      const services = this.#add(queue, next);
      services.start();
      if (this.#state === 'paused') services.fetcher.pause();
    }
  }
}
