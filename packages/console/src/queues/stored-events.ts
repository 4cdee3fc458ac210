/** The events of a queue, which its first reader switches on. A reader that may change nothing leaves them off. */
import type { Queue, QueueEvent } from '@mortise/queues';
import { Sampled } from '@mortise/redis';

import type { ConsoleRight } from '../http/http-call.js';

/** How often settings are read: their change wakes nobody. */
const EVERY_MS = 2_000;

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

/** Resolves when the events are on, or at the end of the signal. */
export async function untilOn(queue: Pick<Queue, 'settings'>, signal: AbortSignal): Promise<void> {
  const read = async (): Promise<boolean> => (await queue.settings()).keepEvents > 0;
  const areOn = new Sampled(read, EVERY_MS, (a, b) => a === b);
  for await (const isOn of areOn.follow(signal)) if (isOn) return;
}
