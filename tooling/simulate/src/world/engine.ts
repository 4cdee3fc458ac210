/**
 * The server: the engine of `@mortise/redis/testing`, which runs the Lua of the packages, on the clock of the world. Its replies and
 * messages go into the hands of the world, which delivers them later or never.
 *
 * Rejected: a real Redis. Its clock and its expiries are those of the machine, so a seed would not replay; and a command takes
 * a round trip of the operating system. `npm run test:memory` and a differential test keep the engine equal to Redis.
 */
import type { CommandArgument, RedisConnection } from '@mortise/redis';
import type * as Testing from '@mortise/redis/testing';
import { Random } from '../random.js';
import { doorOf } from './door.js';
import type { Sources } from './realm.js';
import { Realm } from './realm.js';
import { Timers } from './timers.js';

/** The reply of the engine to a command, or its error. */
export interface Outcome {
  readonly error?: unknown;
  readonly reply?: unknown;
}

export type OnPush = (event: string, channel: Buffer, message: Buffer) => void;

/** A connection as the server has it. */
export interface Link {
  execute(
    kind: 'call' | 'callBuffer',
    command: string,
    args: CommandArgument[],
    onReply: (outcome: Outcome) => void,
  ): void;
  /** Ends it for the server, with its subscriptions. */
  close(): void;
}

/** Loaded once for all worlds of a run, because translating the Lua is most of the work. */
export class EngineFactory {
  readonly #testing: typeof Testing;
  #now: () => number = () => 0;
  readonly #soon: (() => void)[] = [];

  constructor(sources: Sources) {
    const soon = (callback: () => void): void => void this.#soon.push(callback);
    const now = (): number => this.#now();
    const door = doorOf({
      timers: new Timers(now),
      random: new Random(0),
      wallClock: now,
      monotonic: now,
      soon,
      print: () => undefined,
    });
    this.#testing = new Realm(sources, door).load<typeof Testing>('@mortise/redis/testing');
  }

  /** An empty server. @param now ms since the epoch, with fractions. */
  make(now: () => number): Engine {
    this.#now = now;
    this.#soon.length = 0;
    return new Engine(new this.#testing.MemoryRedis({ clock: 'system' }), this.#soon);
  }
}

export class Engine {
  readonly #redis: Testing.MemoryRedis;
  readonly #soon: (() => void)[];

  constructor(redis: Testing.MemoryRedis, soon: (() => void)[]) {
    this.#redis = redis;
    this.#soon = soon;
  }

  connect(onPush: OnPush): Link {
    const connection = this.#redis.duplicate();
    for (const event of ['messageBuffer', 'smessageBuffer'])
      connection.on(event, (channel: Buffer, message: Buffer) => onPush(event, channel, message));
    return {
      execute: (kind, command, args, onReply) => {
        connection[kind](command, args).then(
          (reply) => onReply({ reply }),
          (error: unknown) => onReply({ error }),
        );
        this.#flush();
      },
      close: () => connection.disconnect(),
    };
  }

  /** Forgets all scripts. */
  flushScripts(): void {
    void (this.#redis as RedisConnection).call('script', ['flush']);
    this.#flush();
  }

  #flush(): void {
    for (const callback of this.#soon.splice(0)) callback();
  }
}
