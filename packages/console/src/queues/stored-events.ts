/** The events of a queue, which its first reader switches on. A reader that may change nothing leaves them off. */
import type { Queue, QueueEvent } from '@mortise/queues';

import type { ConsoleRight } from '../http/http-call.js';

/** Whether the events are off, and the right does not switch them on. A round trip for `read`. */
export async function areOffFor(queue: Pick<Queue, 'settings'>, right: ConsoleRight): Promise<boolean> {
  return right === 'read' && (await queue.settings()).keepEvents === 0;
}

/** The last events, or null where they are off. */
export async function lastEventsFor(
  queue: Pick<Queue, 'settings' | 'lastEvents'>,
  right: ConsoleRight,
): Promise<QueueEvent[] | null> {
  return (await areOffFor(queue, right)) ? null : queue.lastEvents();
}
