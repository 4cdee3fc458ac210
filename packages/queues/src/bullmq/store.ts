/** The jobs of one queue in Redis: the engine's parts, and the scripts of the layer for what the engine has no call for. */
import type { RedisClient } from '@mortise/redis';
import { callRedis, callRedisBuffer } from '@mortise/redis';
import { Enqueuer } from '../enqueue/enqueuer.js';
import { TaskConflictError } from '../errors.js';
import { Operator } from '../operate/operator.js';
import {
  layerAdd,
  layerChild,
  layerEdit,
  layerEvent,
  layerLeave,
  layerLog,
  layerMove,
  layerRange,
  queueGet,
} from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';
import { decodeTaskId, encodeTaskId, isTaskId } from '../task/task-id.js';
import { IdBlock } from './id-block.js';
import type { JobDetails, StoredJob, StoredReply } from './stored-job.js';
import { encodeDetails, encodeJob, LEVELS, readStored } from './stored-job.js';
import type { JobState } from './types.js';

const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;
const KEEP_CANCELLED = 1_000;
/** How long the ends of children are kept after that of their parent. */
const CHILDREN_MS = 7 * 86_400_000;
const MOST_TRIES = 5;
const NONE = Buffer.alloc(0);
const IDS_MS = 86_400_000;
/** An event has at most 65,535 bytes in the stream. */
const MAX_EVENT = 60_000;

export interface NewJob {
  readonly id: string;
  readonly name: string;
  /** JSON */
  readonly data: string;
  readonly details: JobDetails;
  readonly level: number;
  /** See layer.place.part.lua; F for the end. */
  readonly where: string;
  /** The event of its place. */
  readonly placed: object;
}

export interface AddRules {
  readonly dedup?: { readonly id: string; readonly ttl: number; readonly extend: boolean };
  readonly scheduler?: {
    readonly id: string;
    readonly seen: string;
    readonly next: number;
    readonly definition: string;
  };
  readonly children?: readonly string[];
}

export interface ChildReport {
  readonly parentId: string;
  readonly child: string;
  readonly outcome: '+' | 's' | 'f' | 'i' | 'x';
  readonly value?: string;
  /** Why the parent is to fail. */
  readonly reason?: string;
  readonly goesOn?: boolean;
}

export class Store {
  readonly qualifiedName: string;
  readonly shards: Shards;
  readonly operator: Operator;
  readonly #enqueuer: Enqueuer;
  readonly #ids = new IdBlock();

  constructor(
    readonly redis: RedisClient,
    readonly queue: string,
    readonly prefix: string,
  ) {
    this.qualifiedName = `${prefix}:${queue}`;
    this.shards = new Shards(redis, queue, prefix, { priorities: LEVELS, shards: 1, isRanked: true });
    this.operator = new Operator(queue, this.shards, KEEP_CANCELLED);
    this.#enqueuer = new Enqueuer(redis, queue, this.shards, MAX_PAYLOAD_BYTES);
  }

  get #shard(): Shard {
    return this.shards.first;
  }

  async ready(): Promise<void> {
    if (!this.#enqueuer.isOpen) await this.#enqueuer.open();
  }

  /** The common case: at the end, without a rule. Resolves to whether it is new. Calls of one tick share a script call. */
  enqueue({ id, name, data, details, level }: NewJob): Promise<boolean> {
    const record = encodeJob(name, data, encodeDetails(details), level, 0);
    const request = {
      id,
      storedId: encodeTaskId(id),
      priority: LEVELS[level],
      group: undefined,
      usesOptional: false,
      record,
    };
    return this.#enqueuer.submit(request).then(
      ({ isDuplicate }) => !isDuplicate,
      (error: unknown) => {
        if (error instanceof TaskConflictError) return false;
        throw error;
      },
    );
  }

  /** 1 stored, 0 a duplicate, -1 the scheduler has changed, or the id of the job that has the deduplication id. */
  async add(job: NewJob, { dedup, scheduler, children }: AddRules = {}): Promise<number | string> {
    const { id, name, data, details, level, where, placed } = job;
    const record = encodeJob(name, data, encodeDetails(details), level, details.t ?? Date.now());
    await this.ready();
    const reply = await this.#shard.call((keys, common) =>
      layerAdd.runBuffer(this.redis, this.#keys(keys, id), {
        ...common,
        id: encodeTaskId(id),
        record,
        where,
        placed: JSON.stringify(placed),
        duplicate: JSON.stringify({ event: 'duplicated' }),
        dedup: dedup?.id ?? '',
        dedupMs: dedup?.ttl ?? 0,
        dedupRule: dedup?.extend ? 'extend' : '',
        scheduler: scheduler?.id ?? '',
        seen: scheduler?.seen ?? '',
        next: scheduler?.next ?? 0,
        definition: scheduler?.definition ?? '',
        childKeys: children ?? [],
      }),
    );
    return Array.isArray(reply) ? decodeTaskId(reply[0] as Buffer) : (reply as number);
  }

  async get(id: string): Promise<StoredJob | undefined> {
    if (!isTaskId(id)) return undefined;
    const stored = encodeTaskId(id);
    const [reply, progress] = await Promise.all([
      this.#shard.call((keys, { expectedSettings }) =>
        queueGet.runBuffer(this.redis, keys, { expectedSettings, id: stored, isWhole: 1 }),
      ),
      // The script has it only of tasks that have run.
      callRedisBuffer(this.redis, 'hget', [this.#shard.keys.of.progress, stored]),
    ]);
    if (reply === null) return undefined;
    const [record, state, instant, last] = reply as unknown as StoredReply;
    return readStored(id, [record, state, instant, last, (progress as Buffer | null) ?? NONE]);
  }

  /** Replaces the data. Resolves to whether the job exists. */
  async setData(id: string, data: string): Promise<boolean> {
    const { tasks, attempts } = this.#shard.keys.of;
    const args = { id: encodeTaskId(id), seen: '*', extras: '*', payload: data };
    return Number(await layerEdit.run(this.redis, { tasks, attempts }, args)) === 1;
  }

  /** Changes the details; calls `change` again when another process has changed them. Resolves to whether the job exists. */
  async setDetails(id: string, change: (details: JobDetails) => JobDetails): Promise<boolean> {
    const { tasks, attempts } = this.#shard.keys.of;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const stored = await this.get(id);
      if (!stored) return false;
      const extras = encodeDetails(change(stored.details));
      const args = { id: encodeTaskId(id), seen: stored.extras, extras, payload: '' };
      const answer = Number(await layerEdit.run(this.redis, { tasks, attempts }, args));
      if (answer >= 0) return answer === 1;
    }
    throw new Error(`job ${id} changes too often`);
  }

  /** As layer.leave.lua. */
  async leave(id: string, lease: number, where: string, details: JobDetails, event: object): Promise<number> {
    const args = {
      id: encodeTaskId(id),
      token: lease,
      where,
      extras: encodeDetails(details),
      event: JSON.stringify(event),
    };
    return Number(
      await this.#shard.call((keys, common) =>
        layerLeave.run(this.redis, this.#keys(keys, id), { ...common, ...args }),
      ),
    );
  }

  /** As layer.move.lua. */
  async move(
    id: string,
    from: 'S' | 'D' | 'R',
    to: {
      readonly level: number;
      readonly where: string;
      readonly details?: JobDetails;
      readonly event?: object;
    },
  ): Promise<number> {
    const args = {
      id: encodeTaskId(id),
      from,
      level: to.level,
      where: to.where,
      extras: to.details ? encodeDetails(to.details) : '*',
      event: to.event ? JSON.stringify(to.event) : '',
    };
    return Number(
      await this.#shard.call((keys, common) =>
        layerMove.run(this.redis, this.#keys(keys, id), { ...common, ...args }),
      ),
    );
  }

  async report({ parentId, child, outcome, value, reason, goesOn }: ChildReport): Promise<number> {
    await this.ready();
    const args = {
      id: encodeTaskId(parentId),
      child,
      outcome,
      value: value ?? '',
      reason: reason ?? '',
      goesOn: goesOn ? 1 : 0,
      event: JSON.stringify({ event: 'waiting', prev: 'waiting-children' }),
    };
    return Number(
      await this.#shard.call((keys, common) =>
        layerChild.run(this.redis, this.#keys(keys, parentId), { ...common, ...args }),
      ),
    );
  }

  /** The ends of the children of a job by key, and the fields `#`, `!` and `@`. */
  async children(id: string): Promise<Record<string, string>> {
    const flat = (await callRedis(this.redis, 'hgetall', [this.#shard.keys.layerChildren(id)])) as
      | string[]
      | Record<string, string>;
    if (!Array.isArray(flat)) return flat;
    const found: Record<string, string> = {};
    for (let at = 0; at < flat.length; at += 2) found[flat[at]!] = flat[at + 1]!;
    return found;
  }

  /** The children of an ended parent are kept for a time. */
  async expireChildren(id: string): Promise<void> {
    await this.command('PEXPIRE', this.#shard.keys.layerChildren(id), CHILDREN_MS);
  }

  async range(state: JobState, first: number, last: number, isAscending: boolean): Promise<string[]> {
    const found = await this.#range(state, { first, last, isAscending: isAscending ? 1 : 0 });
    return (found as Buffer[]).map((id) => decodeTaskId(id));
  }

  async count(state: JobState): Promise<number> {
    return Number(await this.#range(state, { first: '-', last: 0, isAscending: 0 }));
  }

  #range(
    state: JobState,
    args: { readonly first: number | string; readonly last: number; readonly isAscending: 0 | 1 },
  ): Promise<unknown> {
    return this.#shard.call((keys, { expectedSettings }) =>
      layerRange.runBuffer(this.redis, this.#keys(keys, ''), { expectedSettings, state, ...args }),
    );
  }

  /** The id of a new job. */
  newId(): Promise<string> {
    return this.#ids.next(this.redis, this.layerKeys.layerMeta);
  }

  /** For a removed queue: other processes may still have numbers. */
  async keepIds(last: number): Promise<void> {
    const { layerMeta } = this.layerKeys;
    await this.command('HSET', layerMeta, 'ids', last);
    await this.command('PEXPIRE', layerMeta, IDS_MS);
  }

  /** Publishes an event, if there are readers. A worker knows by its own shard whether there are. */
  async publish(id: string, event: object, shard: Shard = this.#shard): Promise<void> {
    const text = JSON.stringify(event);
    if (Buffer.byteLength(text) > MAX_EVENT) throw new RangeError(`an event may have ${MAX_EVENT} bytes`);
    await shard.call(async (keys, common) => {
      if (shard.settings.values.keepEvents === 0) return 0;
      const args = { ...common, id: id === '' ? '' : encodeTaskId(id), event: text };
      return layerEvent.run(this.redis, keys, args);
    });
  }

  /** Removes a job that isn't active, with its logs and its list of children. */
  async remove(id: string): Promise<boolean> {
    const isRemoved = await this.operator.remove(id);
    if (isRemoved) await this.forget(id);
    return isRemoved;
  }

  async forget(id: string): Promise<void> {
    const stored = encodeTaskId(id);
    await Promise.all([
      this.forgetAll([stored]),
      this.command('ZREM', this.layerKeys.layerWaiting, stored),
      this.command('UNLINK', this.#shard.keys.layerChildren(id)),
    ]);
  }

  /** As `forget`, for jobs without children; their progress too, of which the engine does not know in a queue without features. */
  async forgetAll(storedIds: readonly Buffer[]): Promise<void> {
    const { layerLogs } = this.layerKeys;
    const { progress } = this.#shard.keys.of;
    await Promise.all([
      this.command('HDEL', layerLogs, ...storedIds),
      this.command('HDEL', progress, ...storedIds),
    ]);
  }

  /** A command on keys of the layer. */
  command(name: string, ...args: (string | Buffer | number)[]): Promise<unknown> {
    return callRedis(this.redis, name, args);
  }

  /** Appends a line, and keeps the last `keep` of them; resolves to their number. */
  async log(id: string, line: string, keep: number): Promise<number> {
    const { layerLogs } = this.#shard.keys.layer;
    const { tasks } = this.#shard.keys.of;
    return Number(await layerLog.run(this.redis, { tasks, layerLogs }, { id: encodeTaskId(id), line, keep }));
  }

  /** Keeps the last `keep` lines. */
  async clearLogs(id: string, keep: number): Promise<void> {
    const lines = (await this.logs(id)).slice(-keep || Infinity);
    const { layerLogs } = this.layerKeys;
    await this.command('HDEL', layerLogs, encodeTaskId(id));
    for (const line of keep > 0 ? lines : []) await this.log(id, line, keep);
  }

  async logs(id: string): Promise<string[]> {
    if (!isTaskId(id)) return [];
    const bytes = await callRedisBuffer(this.redis, 'hget', [this.layerKeys.layerLogs, encodeTaskId(id)]);
    const lines: string[] = [];
    const packed = (bytes as Buffer | null) ?? Buffer.alloc(0);
    for (let at = 0; at < packed.length;) {
      const end = at + 4 + packed.readUInt32BE(at);
      lines.push(packed.toString('utf8', at + 4, end));
      at = end;
    }
    return lines;
  }

  /** The id of the job that has a deduplication id; null for none. */
  async dedupHolder(dedup: string): Promise<string | null> {
    const held = (await callRedisBuffer(this.redis, 'hget', [
      this.layerKeys.layerDedup,
      dedup,
    ])) as Buffer | null;
    if (!held) return null;
    const space = held.indexOf(' ');
    const until = Number(held.toString('latin1', 0, space));
    if (until > 0 && until <= Date.now()) return null;
    const id = decodeTaskId(held.subarray(space + 1));
    if (until > 0) return id;
    const holder = await this.get(id);
    return holder && holder.state !== 'completed' && holder.state !== 'failed' ? id : null;
  }

  /** The id of the next job of a job scheduler. */
  async nextOf(scheduler: string): Promise<string | null> {
    const next = await this.command('ZSCORE', this.layerKeys.layerDue, scheduler);
    return next === null ? null : `repeat:${scheduler}:${Number(next)}`;
  }

  get layerKeys(): Shard['keys']['layer'] {
    return this.#shard.keys.layer;
  }

  #keys<Keys extends object>(
    keys: Keys,
    id: string,
  ): Keys & Shard['keys']['layer'] & { readonly children: string } {
    const { layer } = this.#shard.keys;
    return { ...keys, ...layer, children: id === '' ? layer.layerMeta : this.#shard.keys.layerChildren(id) };
  }
}

const stores = new WeakMap<RedisClient, Map<string, Store>>();

/** The store of a queue, shared by all objects that use the client. */
export function storeOf(redis: RedisClient, prefix: string, queue: string): Store {
  let ofClient = stores.get(redis);
  if (!ofClient) stores.set(redis, (ofClient = new Map()));
  const key = JSON.stringify([prefix, queue]);
  let store = ofClient.get(key);
  if (!store) ofClient.set(key, (store = new Store(redis, queue, prefix)));
  return store;
}
