/**
 * The engine of `@mortise/redis/testing`, which runs the Lua of the packages, on the clock of the world. `npm run test:memory`, a
 * differential test and `--engine redis` keep it equal to Redis, which takes several times as long.
 */
import type { RedisConnection } from '@mortise/redis';
import type * as Testing from '@mortise/redis/testing';
import { Timers } from '../../../../packages/redis/dist/tsc/testing/fake-timer.js';
import { Random } from '../random.js';
import { doorOf } from './door.js';
import type { Engine, Engines, Link, OnPush } from './engine.js';
import type { Sources } from './realm.js';
import { Realm } from './realm.js';

/** Loaded once for all worlds of a run, because translating the Lua is most of the work. */
export class MemoryEngines implements Engines {
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

  make(now: () => number): Engine {
    this.#now = now;
    this.#soon.length = 0;
    return new MemoryEngine(new this.#testing.MemoryRedis({ clock: 'system' }), this.#soon);
  }
}

class MemoryEngine implements Engine {
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

  flushScripts(): void {
    void (this.#redis as RedisConnection).call('script', ['flush']);
    this.#flush();
  }

  flushAll(): void {
    this.#redis.clear();
  }

  settled(): undefined {
    return undefined;
  }

  #flush(): void {
    for (const callback of this.#soon.splice(0)) callback();
  }
}
