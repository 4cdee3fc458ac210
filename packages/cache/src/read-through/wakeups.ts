/**
 * The wake-ups of readers that wait for loads: one channel for each process and shard, which the process adds to the leases
 * that it waits for. So a load without waiting readers publishes nothing, and others wake only their waiters.
 */
import { TIMED_OUT, waitFor, WaiterHub } from '@mortise/redis';
import type { Listener, RedisClient } from '@mortise/redis';

/** Expects a wake-up, starting before the lease request is sent, since the message may overtake the reply. */
export interface Ticket {
  /** Resolves at the wake-up or after `ms`; earlier wake-ups since the ticket was made count. */
  wait(ms: number): Promise<void>;
  /** Acts like a wake-up. */
  readonly call: () => void;
  close(): void;
}

export class Wakeups implements Listener {
  readonly #redis: RedisClient;
  readonly #channel: string;
  readonly #waiting = new Map<string, Set<() => void>>();
  #listening: Promise<() => void> | undefined;
  #stop: (() => void) | undefined;

  constructor(redis: RedisClient, channel: string) {
    this.#redis = redis;
    this.#channel = channel;
  }

  /** The channel for leases; '' while this process is not subscribed. */
  get channel(): string {
    return this.#stop ? this.#channel : '';
  }

  /** Subscribes; resolves to whether wake-ups arrive from now on, after `ms` at the latest. */
  async listen(ms: number): Promise<boolean> {
    this.#listening ??= WaiterHub.of(this.#redis).listen(this.#channel, this);
    const listening = this.#listening;
    try {
      const stop = await waitFor(listening, { waitMs: ms });
      if (stop !== TIMED_OUT && this.#listening === listening) this.#stop = stop;
    } catch {
      if (this.#listening === listening) this.#listening = undefined;
    }
    return this.#stop !== undefined;
  }

  expect(redisKey: string): Ticket {
    let isCalled = false;
    let onCall: (() => void) | undefined;
    const call = (): void => {
      isCalled = true;
      onCall?.();
    };
    const calls = this.#waiting.get(redisKey);
    if (calls) calls.add(call);
    else this.#waiting.set(redisKey, new Set([call]));
    return {
      call,
      wait: (ms) => {
        if (isCalled) return Promise.resolve();
        return new Promise((resolve) => {
          const timer = setTimeout(resolve, ms);
          onCall = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      },
      close: () => {
        const left = this.#waiting.get(redisKey);
        if (left?.delete(call) && left.size === 0) this.#waiting.delete(redisKey);
      },
    };
  }

  onMessage(body: Buffer): void {
    this.#wake(this.#waiting.get(body.toString()) ?? []);
  }

  onResync(): void {
    for (const calls of this.#waiting.values()) this.#wake(calls);
  }

  onClosed(): void {
    this.#stop = undefined;
    this.#listening = undefined;
    this.onResync();
  }

  /** Ends the subscription; `listen` may be called again. */
  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#listening = undefined;
  }

  #wake(calls: Iterable<() => void>): void {
    for (const call of calls) call();
  }
}
