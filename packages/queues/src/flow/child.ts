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
import { readError } from '../task/stored-error.js';
import { encodeTaskId } from '../task/task-id.js';

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
const JSON_AT = 10;
/** Offset of the data in the entry of `attempts`. */
const DATA_AT = 11;

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
  /** The children that have ended, in the order of the flow. */
  readonly ended: readonly Child[];
}

/** The children of a parent; null for a task without any. One round trip for each 2 MiB. */
export async function readChildren(shard: Shard, storedId: Buffer): Promise<FlowChildren | null> {
  const ended: Child[] = [];
  let [from, count] = [0, 0];
  do {
    const reply = await flowChildren.runBuffer(
      shard.redis,
      { flows: shard.keys.of.flows },
      { id: storedId, from },
    );
    const [next, of, ...kept] = reply as [number, number, ...Buffer[]];
    for (const bytes of kept) ended.push(decodeChild(bytes, shard.codecs));
    [from, count] = [next, of];
  } while (from > 0);
  return count < 0 ? null : { count, ended };
}

/** The same, in whichever shard the parent lies. */
export function findChildren(shards: Shards, id: string): Promise<FlowChildren | null> {
  const storedId = encodeTaskId(id);
  return shards.find(storedId, (shard) => readChildren(shard, storedId));
}
