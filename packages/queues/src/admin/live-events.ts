/** The events of a queue for pages. The first reader of events switches them on; a reader that may change nothing leaves them off. */
import { requireOptions, requireSignal, Sampled } from '@mortise/redis';

import type { QueueEvent } from '../events/event.js';
import type { Queue } from '../queue.js';

/** An event of the queue, or of the stream of its events. */
export type LiveEvent =
  | QueueEvent
  | {
      /**
       * `off`: the events are off, and the reader leaves them so. `reset`: earlier events may be missing. Somebody has switched the events
       * on, or the cursor belongs to another queue of this name.
       */
      readonly type: 'off' | 'reset';
      readonly cursor: string;
    };

export interface LiveEventsOptions {
  /** The cursor of a live event, to continue after it. Default: from now on. */
  readonly after?: string | undefined;
  /** Whether the events stay off until somebody else switches them on. Default false. */
  readonly isReadOnly?: boolean | undefined;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

export interface LiveEvents {
  /** Continues before the first event. */
  readonly cursor: string;
  readonly events: AsyncIterable<LiveEvent>;
}

type Shown = Pick<Queue, 'events' | 'eventsCursor' | 'lastEvents' | 'settings'>;

const OPTIONS = new Set(['after', 'isReadOnly', 'signal']);
const STORED_OPTIONS = new Set(['isReadOnly']);
/** In place of a cursor, while Redis stores no events. */
const NO_POSITION = '-';
/** How often settings are read: their change wakes nobody. */
const EVERY_MS = 2_000;

/**
 * Follows the events of a queue from now on, or after a cursor. For a read-only reader of a queue without events it yields `off`, reads
 * the settings each 2 s, and goes on with `reset` once they are on. One or two round trips, then those of `Queue.events`. Throws
 * RangeError for a text that is no cursor, and ERR_INVALID_ARG.
 */
export async function liveEvents(queue: Shown, options: LiveEventsOptions): Promise<LiveEvents> {
  const { after, isReadOnly = false, signal } = requireOptions('liveEvents', options, OPTIONS);
  requireSignal(signal);
  if (await areOff(queue, isReadOnly)) {
    const cursor = after ?? NO_POSITION;
    return { cursor, events: offUntilOn(queue, cursor, signal) };
  }
  const cursor = after ?? (await queue.eventsCursor());
  if (after === NO_POSITION) return { cursor: after, events: fromNow(queue, signal) };
  // Its cursor is checked now: the reading begins later.
  return { cursor, events: resumed(queue, queue.events({ after: cursor, signal }), signal) };
}

/**
 * The last events of a queue; null for a read-only reader of a queue without events. One round trip, and one for a read-only reader.
 * Throws as `Queue.lastEvents`.
 */
export async function storedEvents(
  queue: Shown,
  options: { readonly isReadOnly?: boolean | undefined } = {},
): Promise<QueueEvent[] | null> {
  const { isReadOnly = false } = requireOptions('storedEvents', options, STORED_OPTIONS);
  return (await areOff(queue, isReadOnly)) ? null : queue.lastEvents();
}

async function areOff(queue: Shown, isReadOnly: boolean): Promise<boolean> {
  return isReadOnly && (await queue.settings()).keepEvents === 0;
}

async function* offUntilOn(
  queue: Shown,
  cursor: string,
  signal: AbortSignal,
): AsyncGenerator<LiveEvent, void> {
  yield { type: 'off', cursor };
  const read = async (): Promise<boolean> => (await queue.settings()).keepEvents > 0;
  const areOn = new Sampled(read, EVERY_MS, (a, b) => a === b);
  for await (const isOn of areOn.follow(signal)) if (isOn) break;
  if (!signal.aborted) yield* fromNow(queue, signal);
}

async function* resumed(
  queue: Shown,
  events: AsyncIterable<QueueEvent>,
  signal: AbortSignal,
): AsyncGenerator<LiveEvent, void> {
  try {
    yield* events;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The cursor is of a queue of the same name that had other shards.
    yield* fromNow(queue, signal);
  }
}

async function* fromNow(queue: Shown, signal: AbortSignal): AsyncGenerator<LiveEvent, void> {
  const cursor = await queue.eventsCursor();
  yield { type: 'reset', cursor };
  yield* queue.events({ after: cursor, signal });
}
