/**
 * The changes that requests make to caches, for those who follow them. Redis stores none of them: a request publishes its change after the
 * write and before its answer, and a follower gets it at most once. Where it may have missed some, it gets a `reset`. Rejected: a stream for
 * each cache, since a follower that was away has to drop its copies anyway, whatever their number.
 */
import type { RedisClient } from '@mortise/redis';
import { ClientClosedError, KeySpace, onAbort, WaiterHub, WakeUp } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';

export type CacheChange =
  | { readonly type: 'stored' | 'deleted'; readonly key: string }
  | { readonly type: 'invalidated'; readonly tag: string };

/** `reset`: some may be missing. */
export type CacheEvent = CacheChange | { readonly type: 'reset' };

/** The most changes that a slow follower has waiting; with more it gets a `reset` in their place. */
const MAX_WAITING = 1_000;
const RESET: CacheEvent = { type: 'reset' };

@Injectable()
export class CacheChanges {
  readonly #redis: RedisClient;
  readonly #prefix: string;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Of a cache of the tenant of the request. One round trip. */
  async publish(cache: string, change: CacheChange): Promise<void> {
    const { publishCommand } = WaiterHub.of(this.#redis);
    await this.#redis.call(publishCommand, [this.#channelOf(cache), `*:${JSON.stringify(change)}`]);
  }

  /** Resolves when it has subscribed: the events have all changes from then on. The signal ends them, without an error. */
  async follow(cache: string, signal: AbortSignal): Promise<AsyncIterable<CacheEvent>> {
    const wakeUp = new WakeUp();
    let waiting: CacheEvent[] = [];
    const push = (event: CacheEvent): void => {
      if (event === RESET || waiting.length >= MAX_WAITING) waiting = [RESET];
      else waiting.push(event);
      wakeUp.wake();
    };
    const stop = await WaiterHub.of(this.#redis).listen(this.#channelOf(cache), {
      onMessage: (body) => push(changeOf(body)),
      onResync: () => push(RESET),
      onClosed: () => wakeUp.close(new ClientClosedError()),
    });
    const end = (): void => {
      stop();
      wakeUp.close();
    };
    // Also when nobody reads any event.
    if (signal.aborted) end();
    else onAbort(signal, end);
    return (async function* read(): AsyncGenerator<CacheEvent, void> {
      while (!signal.aborted) {
        const event = waiting.shift();
        if (event) yield event;
        else await wakeUp.wait();
      }
    })();
  }

  #channelOf(cache: string): string {
    // A prefix of the name would make the longest ones too long.
    return new KeySpace('api', prefixOf(this.#prefix, currentTenant())).entity(cache).key('cache-changes');
  }
}

/** Another program may publish anything. */
function changeOf(body: Buffer): CacheEvent {
  try {
    return JSON.parse(body.toString()) as CacheChange;
  } catch {
    return RESET;
  }
}
