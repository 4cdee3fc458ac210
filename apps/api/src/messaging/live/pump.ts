/**
 * Brings events to a client as fast as it takes them. The next one is asked for when the client has room, and a follower
 * that isn't asked keeps nothing; so a slow client costs `HIGH_WATER_BYTES`, and one that stands still is given up.
 */
import type { ChatEvent } from '@mortise/messaging';

import { isRedisUnavailable } from '../../redis/is-redis-unavailable.js';
import type { EndReason } from './live-streams.js';

export interface Outlet {
  /** What was written and is still in this process. */
  readonly bufferedBytes: number;
  /** Calls back when the event has left the process. */
  write(event: ChatEvent, onFlushed: () => void): void;
}

export interface PumpOptions {
  /** How long the client may take until it has room again, ms. */
  readonly patienceMs: number;
  /** Aborted when the connection is closed. */
  readonly signal: AbortSignal;
}

const HIGH_WATER_BYTES = 65_536;

/** The client took nothing for too long. */
class StallError extends Error {}

/** Resolves to why the events ended: undefined when the signal did that. Never rejects; an unexpected error goes to `onError`. */
export async function pump(
  events: AsyncIterable<ChatEvent>,
  outlet: Outlet,
  options: PumpOptions,
  onError: (error: unknown) => void,
): Promise<EndReason | undefined> {
  try {
    for await (const event of events) {
      const flushed = new Promise<void>((resolve) => outlet.write(event, resolve));
      if (outlet.bufferedBytes > HIGH_WATER_BYTES) await within(flushed, options);
    }
  } catch (error) {
    if (options.signal.aborted) return undefined;
    if (error instanceof StallError) return 'too-slow';
    if (isRedisUnavailable(error)) return 'redis-unavailable';
    onError(error);
    return 'internal-error';
  }
  return undefined;
}

async function within(flushed: Promise<void>, { patienceMs, signal }: PumpOptions): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let leave!: () => void;
  try {
    await new Promise<void>((resolve, reject) => {
      leave = resolve;
      timer = setTimeout(() => reject(new StallError()), patienceMs);
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) resolve();
      flushed.then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}
