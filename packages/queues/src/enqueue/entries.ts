/**
 * The tasks of one call of queue.enqueue.lua, all in one byte array, since each argument of a command costs the client 0.6
 * µs. Records and generated ids are written directly into it.
 */
import type { Shard } from '../shard/shard.js';
import { writeTaskId } from '../task/new-task-id.js';
import { setEnqueuedAt, setPriority, whenOf } from '../task/record.js';
import type { Writable } from '../task/record.js';
import type { ServerClock } from '@mortise/redis';

const UUID_BYTES = 16;
const DELAY_BYTES = 10;
const NO_DELAYS = Buffer.alloc(0);
/** Bytes of a run. */
const RUN_BYTES = 4;
/** Flag in the first place of a run: the caller gave some of its ids. */
const HAS_GIVEN = 0x8000;
const FIRST_PRIORITY = '0'.charCodeAt(0);
/** Larger records are not handed off: pub/sub should not carry them. */
const MAX_HANDED_OFF_BYTES = 4096;

/** A checked task, ready to be sent. */
export interface Enqueue {
  /** The caller's id; otherwise set when the task is sent. */
  id: string | undefined;
  readonly storedId: Buffer | undefined;
  readonly priority: string | undefined;
  readonly group: string | undefined;
  /** Whether the scripts need the keys of optional features. */
  readonly usesOptional: boolean;
  readonly record: Writable;
  /** When the delay began (`performance.now()`); undefined without a delay. */
  readonly madeAt?: number | undefined;
  /** The check of an asynchronous schema: rejects if it refuses the payload. */
  checking?: Promise<void> | undefined;
  /** A script call stores all tasks of one `Whole` or none. */
  whole?: Whole | undefined;
}

/** A call of `enqueueMany`. */
export type Whole = object;

export interface EntryOperands {
  readonly usesOptional: 0 | 1;
  readonly mode: 'h' | 'e' | '-';
  readonly priorities: string;
  readonly stamp: number;
  readonly delays: Buffer;
  readonly count: number;
  readonly entries: Buffer;
}

/** Consecutive tasks of one call of `enqueueMany`. */
interface Run {
  readonly whole: Whole;
  /** From 1. */
  readonly first: number;
  last: number;
  hasGiven: boolean;
  /** Offset of its first task. */
  readonly at: number;
  readonly delays: number;
}

export class Entries {
  readonly count: number;
  /** Tasks that cannot be sent, with the reason. */
  readonly refused = new Map<Enqueue, Error>();
  readonly operands: EntryOperands;
  /** The keys of the priorities that occur, then those of optional features or those for a hand-off. */
  readonly places: readonly string[];

  /**
   * @param clock Estimates the server's time, which is written as the enqueue time if known.
   * @param sentAt `performance.now()`
   * @param seemsIdle A worker was idle at the last call: a single small task may be handed off to it.
   * @param isEarlier The shard is one of an earlier number of shards, and stores only tasks whose group it has.
   */
  constructor(
    batch: readonly Enqueue[],
    { index, settings, keys }: Shard,
    clock: ServerClock,
    sentAt: number,
    { seemsIdle, isEarlier }: { readonly seemsIdle: boolean; readonly isEarlier: boolean },
  ) {
    const { values } = settings;
    // No id leads to a shard that gets no new tasks, or to one by an earlier number.
    const shards = isEarlier || index >= values.shards ? 1 : values.shards;
    const stamp = clock.now();
    let bytes = 0;
    let whole: Whole | undefined;
    for (const request of batch) {
      const { storedId, record } = request;
      bytes += 6 + (storedId?.length ?? UUID_BYTES) + record.length;
      if (request.whole !== undefined && request.whole !== whole) bytes += RUN_BYTES;
      whole = request.whole;
    }
    const entries = Buffer.allocUnsafe(bytes);
    const runs: Run[] = [];
    let run: Run | undefined;
    const priorities: number[] = [];
    const delays: Buffer[] = [];
    let at = 0;
    let count = 0;
    let lastPriority: string | undefined;
    let priorityIndex = -1;
    for (const request of batch) {
      const { storedId, priority, record } = request;
      if (this.refused.size > 0 && this.refused.has(request)) continue;
      if (request.whole !== run?.whole) {
        run = request.whole && {
          whole: request.whole,
          first: count + 1,
          last: count,
          hasGiven: false,
          at,
          delays: delays.length,
        };
        if (run) runs.push(run);
      }
      if (priorityIndex < 0 || priority !== lastPriority) {
        try {
          priorityIndex = settings.priorityIndex(priority);
        } catch (error) {
          // The queue has become sharded or optional features were enabled since the check.
          this.refused.set(request, error as Error);
          if (run) {
            ({ at } = run);
            count = run.first - 1;
            delays.length = run.delays;
            for (const other of batch) if (other.whole === run.whole) this.refused.set(other, error as Error);
            runs.pop();
            run = undefined;
          }
          continue;
        }
        lastPriority = priority;
        if (!priorities.includes(priorityIndex)) priorities.push(priorityIndex);
      }
      count += 1;
      if (run) {
        run.last = count;
        run.hasGiven ||= storedId !== undefined;
      }
      const idBytes = storedId?.length ?? UUID_BYTES;
      entries.writeUInt16BE(idBytes, at);
      if (storedId) entries.set(storedId, at + 2);
      else request.id = writeTaskId(entries, at + 2, index, shards);
      at += 2 + idBytes;
      const { length } = record;
      entries.writeUInt32BE(length, at);
      record.copy(entries, at + 4);
      const when = whenOf(entries, at + 4);
      if (when !== 0) delays.push(encodeDelay(count, when, sentAt - (request.madeAt ?? sentAt)));
      setPriority(entries, priorityIndex, at + 4);
      setEnqueuedAt(entries, stamp, at + 4);
      at += 4 + length;
    }
    const end = at;
    for (const { first, last, hasGiven } of runs) {
      // A single task is stored or not anyway.
      if (first === last) continue;
      entries.writeUInt16BE(first + (hasGiven ? HAS_GIVEN : 0), at);
      entries.writeUInt16BE(last, at + 2);
      at += RUN_BYTES;
    }
    this.count = count;
    const priorityKeys = settings.priorityKeys;
    const places = priorities.flatMap((one) => [priorityKeys[3 * one]!, priorityKeys[3 * one + 1]!]);
    const { usesOptional } = settings;
    const mayHandOff =
      seemsIdle &&
      !isEarlier &&
      !usesOptional &&
      count === 1 &&
      delays.length === 0 &&
      end <= MAX_HANDED_OFF_BYTES;
    if (mayHandOff) {
      const higher = priorityKeys.slice(0, 3 * priorities[0]!);
      const { active, features } = keys.of;
      this.places = [...places, active, features, priorityKeys[3 * priorities[0]! + 2]!, ...higher];
    } else this.places = usesOptional ? [...places, ...keys.optional] : places;
    this.operands = {
      usesOptional: usesOptional ? 1 : 0,
      mode: isEarlier ? 'e' : mayHandOff ? 'h' : '-',
      priorities: String.fromCharCode(...priorities.map((one) => FIRST_PRIORITY + one)),
      stamp,
      delays: delays.length === 0 ? NO_DELAYS : Buffer.concat([encodeInstant(clock.latest()), ...delays]),
      count,
      entries: at === bytes ? entries : entries.subarray(0, at),
    };
  }
}

function encodeInstant(ms: number): Buffer {
  const instant = Buffer.allocUnsafe(8);
  instant.writeDoubleBE(ms, 0);
  return instant;
}

/** A relative delay counts from the call of `enqueue`. A delay that has passed already becomes 1 ms, so it stays a delay. */
function encodeDelay(place: number, when: number, elapsedMs: number): Buffer {
  const delay = Buffer.allocUnsafe(DELAY_BYTES);
  delay.writeUInt16BE(place, 0);
  delay.writeDoubleBE(when > 0 ? when : Math.min(-1, when + elapsedMs), 2);
  return delay;
}
