/**
 * The wake-ups of readers that wait for loads. Each process has one channel for each shard, and adds it to the leases that it
 * waits for. So a load without waiting readers publishes nothing, and others wake only their waiters.
 */
import { TIMED_OUT, waitFor, WaiterHub, WakeUp } from '@mortise/redis';
import type { Listener, RedisClient } from '@mortise/redis';
import type { LoadWakeups } from './entry-store.js';

export class Wakeups implements Listener, LoadWakeups {
  readonly #redis: RedisClient;
  readonly #channel: string;
  readonly #waiting = new Map<string, Set<WakeUp>>();
  #listening: Promise<() => void> | undefined;
  #stop: (() => void) | undefined;

  constructor(redis: RedisClient, channel: string) {
    this.#redis = redis;
    this.#channel = channel;
  }

  get channel(): string {
    return this.#stop ? this.#channel : '';
  }

  /** Subscribes. */
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

  expect(redisKey: string): WakeUp {
    const wakeUp = new WakeUp();
    const waiting = this.#waiting.get(redisKey) ?? new Set();
    this.#waiting.set(redisKey, waiting.add(wakeUp));
    return wakeUp;
  }

  forget(redisKey: string, wakeUp: WakeUp): void {
    const waiting = this.#waiting.get(redisKey);
    if (waiting?.delete(wakeUp) && waiting.size === 0) this.#waiting.delete(redisKey);
  }

  onMessage(body: Buffer): void {
    for (const wakeUp of this.#waiting.get(body.toString()) ?? []) wakeUp.wake();
  }

  onResync(): void {
    for (const waiting of this.#waiting.values()) for (const wakeUp of waiting) wakeUp.wake();
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
}
