import { Deliveries, MemoryConnection } from './memory-redis.js';
import { MemoryServer } from './memory-server.js';
import type { ListeningServer } from './resp-server.js';
import { listen } from './resp-server.js';
import { TestClock } from './test-clock.js';

export interface MemoryRedisOptions {
  /**
   * `virtual`: time passes only by `clock.advance`. `system`: the engine follows `Date.now()`, also under the fake timers of
   * jest or vitest, and there is no `clock`. Default `virtual`.
   */
  readonly clock?: 'system' | 'virtual' | undefined;
  /** The first instant of a virtual clock, ms since the epoch. Default: the present. */
  readonly startAt?: number | undefined;
}

/**
 * A Redis in the memory of this process, empty at first. The object is the client that the classes of Mortise take, and runs
 * their Lua scripts. Commands that it doesn't have are refused by name. For tests only.
 */
export class MemoryRedis extends MemoryConnection {
  readonly #clock: TestClock | undefined;
  readonly #memory: MemoryServer;
  readonly #listening = new Set<ListeningServer>();
  readonly #unwatch: (() => void) | undefined;

  /** Installs the clock. Throws if another one is installed. */
  constructor({ clock = 'virtual', startAt }: MemoryRedisOptions = {}) {
    const own = clock === 'virtual' ? new TestClock(startAt) : undefined;
    const server = new MemoryServer(own ? () => own.now : systemTime);
    const deliveries = new Deliveries();
    super(server, deliveries);
    this.#clock = own;
    this.#memory = server;
    this.#unwatch = own?.watch(() => deliveries.count);
  }

  /** The virtual clock. Throws with `clock: 'system'`. */
  get clock(): TestClock {
    if (!this.#clock) throw new Error("there is no test clock with clock: 'system'");
    return this.#clock;
  }

  /** Serves the same keys on a free port of the loopback interface, for clients of other libraries and processes. */
  async listen(port = 0): Promise<string> {
    const listening = await listen(this.#memory, port);
    this.#listening.add(listening);
    return listening.url;
  }

  /** Deletes all keys. Scripts and subscriptions stay. */
  clear(): void {
    this.#memory.store.clear();
  }

  /** Ends the connection and the ports, and restores the time of Node. Idempotent. */
  async close(): Promise<void> {
    this.disconnect();
    this.#unwatch?.();
    this.#clock?.uninstall();
    const listening = [...this.#listening];
    this.#listening.clear();
    await Promise.all(listening.map((each) => each.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** `Date.now()` with µs. Timers of another library may move one of the two clocks only. */
function systemTime(): number {
  const coarse = Date.now();
  const fine = performance.timeOrigin + performance.now();
  return Math.floor(fine) === coarse ? fine : coarse;
}
