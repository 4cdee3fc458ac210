/** What happened to a task, or to the queue; and how the stream has it, see task.events.part.lua. */
import { decodeTaskId } from '../task/task-id.js';

const TYPES = {
  E: 'enqueued',
  A: 'started',
  S: 'succeeded',
  R: 'retrying',
  H: 'retrying',
  D: 'dead',
  C: 'cancelled',
  W: 'waiting',
  P: 'progress',
  Y: 'ready',
  X: 'removed',
  Z: 'paused',
  U: 'resumed',
} as const;

export type QueueEventType = (typeof TYPES)[keyof typeof TYPES] | 'gap' | 'unknown';

export interface QueueEvent {
  readonly type: QueueEventType;
  /** Where to go on from: `events({ after: cursor })` begins behind this event. */
  readonly cursor: string;
  /** When it happened, ms since the epoch, by the clock of the server. */
  readonly at: number;
  /** The task; left out where it concerns the queue. */
  readonly id?: string;
  /** The name of a task that was enqueued. */
  readonly name?: string;
  /** The attempt that was started or has ended. */
  readonly attempt?: number;
  /** Why a task is retrying, dead or cancelled: the first 512 bytes. */
  readonly error?: string;
  /** What the handler told, of up to 512 bytes; of more, only that there is something. */
  readonly progress?: unknown;
  /** Of a `gap`: how many events were trimmed before they were read, if that can be known. */
  readonly missed?: number;
}

/** An event as it stands in an entry, with its number. */
export interface NumberedEvent {
  readonly number: number;
  readonly fields: Omit<QueueEvent, 'cursor'>;
}

/** The events of an entry, oldest first, and the number of the first one. */
export function readEntry(last: number, entry: Buffer): { first: number; events: NumberedEvent[] } {
  const at = entry.readDoubleBE(0);
  const found: Omit<QueueEvent, 'cursor'>[] = [];
  let position = 8;
  const take = (): Buffer => {
    const from = position + 2;
    position = from + entry.readUInt16BE(position);
    return entry.subarray(from, position);
  };
  while (position < entry.length) {
    const kind = String.fromCharCode(entry[position]!);
    position += 1;
    const id = take();
    const attempt = entry.readUInt16BE(position);
    position += 2;
    found.push({
      // A later version may tell of more.
      type: TYPES[kind as keyof typeof TYPES] ?? 'unknown',
      at,
      ...(id.length > 0 && { id: decodeTaskId(id) }),
      ...(attempt > 0 && { attempt }),
      ...readText(kind, take()),
    });
  }
  const first = last - found.length + 1;
  return { first, events: found.map((fields, index) => ({ number: first + index, fields })) };
}

function readText(kind: string, text: Buffer): Pick<QueueEvent, 'name' | 'error' | 'progress'> {
  if (text.length === 0) return {};
  if (kind === 'E') return { name: text.toString() };
  if (kind === 'P') return { progress: JSON.parse(text.toString()) as unknown };
  // It may have been cut within a character.
  return { error: text.toString().replace(/\uFFFD$/, '') };
}
