/**
 * The end of a child, as stored for its parent:
 *
 *   f64 instant (ms) | u16 length · queue, id and name as JSON | state: S, D, C, X · f64 instant · u16 attempt · data
 *
 * The part after the JSON is the child's entry in `attempts` of its shard; X is a removed task.
 */
import type { Codecs } from '@mortise/redis';
import { readJson } from '@mortise/redis';
import { flowChildren } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import type { TaskError } from '../task-error.js';
import type { ParentAddress } from '../task/record.js';
import { decodeRecord } from '../task/record.js';
import { readError } from '../task/stored-error.js';
import { encodeTaskId } from '../task/task-id.js';
import type { TaskAddress } from './child-list.js';
import { decodeChildren } from './child-list.js';

/** An ended child of a flow, as `ctx.children()` returns it. */
export interface Child {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly state: 'succeeded' | 'dead' | 'cancelled' | 'removed';
  /** ms since the epoch, by the server's clock. */
  readonly finishedAt: number;
  /** The handler's result. */
  readonly result?: unknown;
  /** Why it is dead or was cancelled. */
  readonly error?: TaskError;
}

export interface ChildIdentity {
  readonly queue: string;
  readonly id: string;
  readonly name: string;
}

const STATES = { S: 'succeeded', D: 'dead', C: 'cancelled', X: 'removed' } as const;
const EMPTY = Buffer.alloc(0);
const JSON_AT = 10;
/** Offset of the data in the entry of `attempts`. */
const DATA_AT = 11;

/** A child as the fields of its parent's flow have it: 8 bytes flow, u16 index. */
export function childField({ flow, index }: ParentAddress): Buffer {
  const field = Buffer.alloc(10);
  field.write(flow, 0, 'hex');
  field.writeUInt16BE(index, 8);
  return field;
}

export function encodeChild(identity: ChildIdentity, end: Buffer): Buffer {
  const json = Buffer.from(JSON.stringify(identity));
  const head = Buffer.allocUnsafe(JSON_AT);
  end.copy(head, 0, 1, 9);
  head.writeUInt16BE(json.length, 8);
  return Buffer.concat([head, json, end]);
}

function decodeChild(kept: Buffer, codecs: Codecs | undefined): Child {
  const endAt = JSON_AT + kept.readUInt16BE(8);
  const identity = JSON.parse(kept.toString('utf8', JSON_AT, endAt)) as ChildIdentity;
  const state = STATES[String.fromCharCode(kept[endAt]!) as keyof typeof STATES];
  const text = kept.toString('utf8', endAt + DATA_AT);
  return {
    ...identity,
    state,
    finishedAt: kept.readDoubleBE(0),
    ...(text !== '' &&
      (state === 'succeeded'
        ? { result: readJson(text, codecs) }
        : { error: readError(text, state === 'cancelled') })),
  };
}

const MAX_REASON = 2_000;

/** The reason of a parent that is dead because of this child. */
export function failureOf({ queue, id, name }: ChildIdentity, end: Buffer): string {
  const state = STATES[String.fromCharCode(end[0]!) as keyof typeof STATES];
  const text = end.toString('utf8', DATA_AT);
  const { name: thrown, message } = readError(text);
  const why = thrown === 'Error' ? message : `${thrown}: ${message}`;
  const child = `its child ${JSON.stringify(name)}, task ${JSON.stringify(id)} of queue ${JSON.stringify(queue)},`;
  const what = state === 'dead' ? 'is dead' : `was ${state}`;
  const reason = text === '' ? `${child} ${what}` : `${child} ${what}: ${why}`;
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
}

/** The children of a task. */
export interface FlowChildren {
  /** How many there are. */
  readonly count: number;
  /** The children that have ended, in the order of the flow. None of a parent that has succeeded, since Redis removes them then. */
  readonly ended: readonly Child[];
  /**
   * Queue and id of each child, in the order of the flow, also of those that have not ended. Undefined for a flow that an
   * earlier version has stored, and for given ids and queues of more than 16 KiB.
   */
  readonly all?: readonly TaskAddress[];
}

interface Read {
  /** -1: none, or their ends were deleted. */
  readonly count: number;
  readonly ended: readonly Child[];
  /** Without its payload; empty if the task is unknown, or it was not asked for. */
  readonly record: Buffer;
}

async function read(shard: Shard, storedId: Buffer, hasRecord: boolean): Promise<Read> {
  const { flows, tasks } = shard.keys.of;
  const ended: Child[] = [];
  let record: Buffer = EMPTY;
  let [from, count] = [0, 0];
  do {
    const isFirst = from === 0;
    const reply = await flowChildren.runBuffer(
      shard.redis,
      { flows, tasks },
      { id: storedId, from, hasRecord: hasRecord && isFirst ? 1 : 0 },
    );
    const [next, of, found, ...kept] = reply as [number, number, Buffer, ...Buffer[]];
    if (isFirst) record = found;
    for (const bytes of kept) ended.push(decodeChild(bytes, shard.codecs));
    [from, count] = [next, of];
  } while (from > 0);
  return { count, ended, record };
}

/** The ended children of a parent. One round trip for each 2 MiB. */
export async function readChildren(shard: Shard, storedId: Buffer): Promise<readonly Child[]> {
  return (await read(shard, storedId, false)).ended;
}

/** The children of a parent; null for a task without any. One round trip for each 2 MiB. */
export function findChildren(shards: Shards, parent: TaskAddress): Promise<FlowChildren | null> {
  const storedId = encodeTaskId(parent.id);
  return shards.find(storedId, async (shard) => {
    const { count, ended, record } = await read(shard, storedId, true);
    const list = record.length > 0 ? decodeRecord(record).extras.children : undefined;
    const all = list && decodeChildren(parent, list);
    if (count < 0) return all ? { count: all.length, ended, all } : null;
    return { count, ended, ...(all && { all }) };
  });
}
