/**
 * A client for a URL, for objects that live as long as a process and can be closed. ioredis is imported with the first command, so
 * a program that passes a client never loads it. Until then the client keeps commands and listeners, in their order.
 *
 * Rejected: a URL for every class. A lock or a chat is one of many of its kind, each would open a connection, and has no end at
 * which to close it.
 */
import type { Redis } from 'ioredis';
import { setImmediate } from 'node:timers/promises';
import { ArgumentTypeError } from './argument-error.js';
import type { RedisClient, RedisConnection } from './client.js';
import { ClientClosedError } from './coded-error.js';
import { requireClient } from './require-client.js';
import { TIMED_OUT, waitFor } from './wait-for.js';

export interface OwnedClient {
  readonly redis: RedisClient;
  /** Connects again after `close`. */
  readonly reopen: () => void;
  /** Waits up to `withinMs` (2,000) for calls that were made, then closes the client. A client of the caller stays open. */
  readonly close: (withinMs?: number) => Promise<void>;
}

const CLOSE_MS = 2_000;
/** How long an open connection may take to end. */
const END_MS = 500;

type Listener = Parameters<RedisConnection['on']>[1];

/** Throws TypeError for anything but a client and a URL such as `redis://user:password@host:6379/0`. */
export function ownedClient(given: RedisClient | string): OwnedClient {
  if (typeof given !== 'string') {
    return { redis: requireClient(given), reopen: () => undefined, close: async () => undefined };
  }
  const url = requireUrl(given);
  const own = new LazyConnection(async () => {
    const { Redis } = await import('ioredis');
    const redis = new Redis(url, { lazyConnect: true, disconnectTimeout: END_MS });
    // Commands and waits report it.
    redis.on('error', () => undefined);
    return redis;
  });
  return {
    redis: requireClient(own.proxy),
    reopen: () => own.reopen(),
    close: (withinMs) => own.close(withinMs),
  };
}

/** A connection that is made with its first command, and made anew after `close` and `reopen`. */
class LazyConnection<Target extends RedisConnection> {
  /** Has the members of the target as long as that exists. */
  readonly proxy: RedisClient;
  readonly #make: () => Promise<Target>;
  readonly #bound = new Map<PropertyKey, unknown>();
  #making: Promise<Target> | undefined;
  #target: Target | undefined;
  #listeners: [string, Listener][] = [];
  /** Rejects the calls that have no reply. */
  readonly #pending = new Map<Promise<unknown>, (error: Error) => void>();
  #isClosed = false;

  constructor(make: () => Promise<Target>) {
    this.#make = make;
    const own = {
      isCluster: false,
      options: {},
      call: (...args: Parameters<RedisConnection['call']>) => this.#send('call', args),
      callBuffer: (...args: Parameters<RedisConnection['call']>) => this.#send('callBuffer', args),
      on: (event: string, listener: Listener) => {
        this.#listeners.push([event, listener]);
        this.#target?.on(event, listener);
        return this.proxy;
      },
      off: (event: string, listener: Listener) => {
        this.#listeners = this.#listeners.filter(([name, one]) => name !== event || one !== listener);
        this.#target?.off(event, listener);
        return this.proxy;
      },
    };
    const early = {
      duplicate: (...args: unknown[]) =>
        new LazyConnection(async () => ((await this.#load()) as unknown as RedisClient).duplicate(...args))
          .proxy,
      disconnect: () => void this.close(0),
    };
    this.proxy = new Proxy({} as RedisClient, {
      get: (_, name) => {
        if (name === 'status') return this.#isClosed ? 'end' : (this.#target?.status ?? 'wait');
        if (name in own && (name !== 'options' || !this.#target)) return own[name as keyof typeof own];
        return this.#target ? this.#memberOf(this.#target, name) : early[name as keyof typeof early];
      },
    });
  }

  reopen(): void {
    this.#isClosed = false;
  }

  async close(withinMs = CLOSE_MS): Promise<void> {
    if (this.#isClosed) return;
    const deadline = performance.now() + withinMs;
    // Calls of this tick are sent at its end, and some send another command after the reply.
    do {
      await waitFor(Promise.allSettled(this.#pending.keys()), { waitMs: deadline - performance.now() });
      await setImmediate();
    } while (this.#pending.size > 0 && performance.now() < deadline);
    this.#isClosed = true;
    if (this.#target) await end(this.#target);
    for (const reject of this.#pending.values()) reject(new ClientClosedError());
    for (const [event, listener] of this.#listeners) this.#target?.off(event, listener);
    this.#target = undefined;
    this.#making = undefined;
    this.#bound.clear();
  }

  #memberOf(target: Target, name: PropertyKey): unknown {
    const value: unknown = Reflect.get(target, name);
    if (typeof value !== 'function') return value;
    let bound = this.#bound.get(name);
    if (!bound) this.#bound.set(name, (bound = value.bind(target) as unknown));
    return bound;
  }

  #send(method: 'call' | 'callBuffer', args: Parameters<RedisConnection['call']>): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new ClientClosedError());
    const reply = this.#target
      ? this.#target[method](...args)
      : this.#load().then((one) => one[method](...args));
    // A connection that ends while it reconnects never rejects its commands.
    let giveUp!: (error: Error) => void;
    const sent = new Promise((resolve, reject) => {
      giveUp = reject;
      reply.then(resolve, reject);
    });
    this.#pending.set(sent, giveUp);
    const remove = (): void => void this.#pending.delete(sent);
    sent.then(remove, remove);
    return sent;
  }

  #load(): Promise<Target> {
    if (this.#making) return this.#making;
    const making = this.#make().then((target) => {
      // It may have been closed meanwhile.
      if (this.#making !== making) target.disconnect();
      else {
        this.#target = target;
        for (const [event, listener] of this.#listeners) target.on(event, listener);
      }
      return target;
    });
    this.#making = making;
    return making;
  }
}

/** Ends a connection, after its last commands if it is ready. */
async function end(target: RedisConnection): Promise<void> {
  if (target.status === 'end') return;
  const ended = new Promise((resolve) => {
    target.on('end', resolve);
  });
  if (target.status !== 'ready') {
    // `end` may never come.
    target.disconnect();
    return;
  }
  (target as Redis).quit().catch(() => undefined);
  if ((await waitFor(ended, { waitMs: END_MS })) === TIMED_OUT) target.disconnect();
}

function requireUrl(text: string): string {
  const isRedis = URL.canParse(text) && ['redis:', 'rediss:'].includes(new URL(text).protocol);
  if (!isRedis) {
    throw new ArgumentTypeError(
      'redis must be a client, or a URL such as redis://user:password@host:6379/0; a Cluster or Sentinel needs a client',
    );
  }
  return text;
}
