/**
 * The data of a task that waits for an event, in its entry of `attempts`:
 *
 *   \x03 · the event
 *
 * It lasts until the next attempt starts. A delivery of the event makes the task due; see operator.deliver.lua.
 */

const MARK = '\u0003';

export function awaitData(event: string): string {
  return `${MARK}${event}`;
}

/** The event for which a task waits; undefined for other data. */
export function awaitedEvent(data: string): string | undefined {
  return data.startsWith(MARK) ? data.slice(MARK.length) : undefined;
}
