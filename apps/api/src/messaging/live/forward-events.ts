/**
 * Forwards events to a client as fast as it reads. It takes the next event when the client has room, and a subscription
 * buffers nothing meanwhile; so a slow client costs `HIGH_WATER_BYTES`. The outlet drops a client that stops reading.
 */
import { isRedisUnavailable } from '../../redis/is-redis-unavailable.js';
import type { EndReason } from './live-streams.js';

/** An event of a chat, or of another topic. */
export interface StreamEvent {
  readonly type: string;
  /** Continues after the event. */
  readonly token: string;
  readonly [member: string]: unknown;
}

export interface Outlet<Event> {
  /** Undefined when there is room for more at once; otherwise resolves when there is, or when the stream is over. */
  write(event: Event): Promise<void> | undefined;
}

/** The unsent bytes at which a client gets no further events. */
export const HIGH_WATER_BYTES = 65_536;

/**
 * Resolves to the reason of the end; undefined after an abort. Never rejects; an unexpected error goes to `onError`.
 *
 * @param signal Aborted when the stream is over; it has to end `events` too.
 */
export async function forwardEvents<Event>(
  events: AsyncIterable<Event>,
  outlet: Outlet<Event>,
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
