/**
 * Brings events to a client as fast as it takes them. The next one is asked for when the client has room, and a follower
 * that isn't asked keeps nothing; so a slow client costs `HIGH_WATER_BYTES`. One that stands still is given up by its outlet.
 */
import type { ChatEvent } from '@mortise/messaging';

import { isRedisUnavailable } from '../../redis/is-redis-unavailable.js';
import type { EndReason } from './live-streams.js';

export interface Outlet {
  /** Undefined when there is room for more at once; otherwise resolves when there is, or when the stream is over. */
  write(event: ChatEvent): Promise<void> | undefined;
}

/** What waits in this process for a client that is sent no more. */
export const HIGH_WATER_BYTES = 65_536;

/**
 * Resolves to why the events ended: undefined when the signal did that. Never rejects; an unexpected error goes to `onError`.
 *
 * @param signal Aborted when the stream is over: has to end the events, too.
 */
export async function forwardEvents(
  events: AsyncIterable<ChatEvent>,
  outlet: Outlet,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<EndReason | undefined> {
  try {
    for await (const event of events) {
      const room = outlet.write(event);
      if (room) await room;
    }
  } catch (error) {
    if (signal.aborted) return undefined;
    if (isRedisUnavailable(error)) return 'redis-unavailable';
    onError(error);
    return 'internal-error';
  }
  return undefined;
}
