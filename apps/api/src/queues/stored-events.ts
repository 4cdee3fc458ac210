/** The events of a queue, which its first reader switches on, for senders that may change nothing. */
import type { Queue, QueueEvent } from '@mortise/queues';

import type { Principal } from '../callers/principal.js';

/** Whether the events are off, and the sender may not switch them on. A round trip for such a sender. */
export async function areOffFor(queue: Pick<Queue, 'settings'>, sender: Principal | null): Promise<boolean> {
  return sender?.isReadOnly === true && (await queue.settings()).keepEvents === 0;
}

/** The last events, or null where they are off for the sender. */
export async function lastEventsFor(
  queue: Pick<Queue, 'settings' | 'lastEvents'>,
  sender: Principal | null,
): Promise<QueueEvent[] | null> {
  return (await areOffFor(queue, sender)) ? null : queue.lastEvents();
}
