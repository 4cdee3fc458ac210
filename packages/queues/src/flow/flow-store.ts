/**
 * How flows get into their queues, which may lie in different slots.
 *
 * The root is stored with all that is below it in one script call: from then on the flow is there. What is below it is then
 * stored where it belongs, level by level, each task by one idempotent step, and what was stored is removed from where
 * it waited. Whoever does this may die at any time: the outbox of the parent's shard says what is left to do, and workers of
 * that queue do it (see `Relay`). Rejected: children first, whose parent may never come; and one hash tag for all
 * queues of a flow, which makes one slot of them all.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import { PrioritiesMismatchError, QueueFullError, TaskConflictError } from '../errors.js';
import { flowOpen, flowReport } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { ParentAddress } from '../task/record.js';
import { decodeRecord, setLane } from '../task/record.js';
import { isSealed } from '../task/seal.js';
import { decodeTaskId, encodeTaskId } from '../task/task-id.js';
import type { ChildIdentity } from './child.js';
import { encodeChild, failureOf } from './child.js';
import type { FlowNode } from './flow-node.js';
import { decodeNode } from './flow-node.js';
import type { FlowQueues } from './flow-queues.js';

interface Report {
  readonly parentId: Buffer;
  /** 8 bytes flow, u16 index. */
  readonly child: Buffer;
  readonly state: string;
  readonly reason: string;
  readonly kept: Buffer;
}

/** How long who has stored a parent has for storing its children, before others do. */
const GRACE_MS = 5_000;
const MAX_OPENS = 64;
const MAX_REPORTS = 200;
const MAX_BATCH_BYTES = 2 * 1024 * 1024;

export class FlowStore {
  readonly queues: FlowQueues;
  readonly #redis: RedisClient;
  readonly #opens = new Coalescer<Shard, FlowNode, boolean>((shard, nodes) => this.#open(shard, nodes), {
    maxBatch: MAX_OPENS,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: ({ record, children }) => children.reduce((sum, child) => sum + child.length, record.length),
  });
  readonly #reports = new Coalescer<Shard, Report, undefined>(
    (shard, reports) => this.#report(shard, reports),
    {
      maxBatch: MAX_REPORTS,
      maxBytes: MAX_BATCH_BYTES,
      bytesOf: ({ kept }) => kept.length,
    },
  );

  constructor(redis: RedisClient, queues: FlowQueues) {
    this.#redis = redis;
    this.queues = queues;
  }

  /** Stores a task with children, and tries to store these; resolves to whether it is new. */
  async open(node: FlowNode): Promise<boolean> {
    const shard = await this.queues.shardOf(node.queue, node.storedId, node.group);
    const isNew = await this.#opens.submit(shard, node);
    if (isNew) await this.#sendAll(shard, node);
    return isNew;
  }

  /** Stores a child where it belongs. Rejects when that has to be tried again later. */
  async storeChild(bytes: Buffer): Promise<void> {
    const node = decodeNode(bytes);
    const record = decodeRecord(node.record);
    const identity = { queue: node.queue, id: decodeTaskId(node.storedId), name: record.name };
    const parent = record.extras.parent!;
    try {
      if ((await this.#store(node)) || (await this.#isOurs(node, parent))) return;
      await this.#fail(identity, parent, 'the id belongs to another task');
    } catch (error) {
      if (!isHopeless(error)) throw error;
      await this.#fail(identity, parent, error.message);
    }
  }

  /** Tells a parent how a child has ended. */
  async report(identity: ChildIdentity, parent: ParentAddress, end: Buffer): Promise<void> {
    const parentId = encodeTaskId(parent.id);
    const shard = await this.queues.shardOf(parent.queue, parentId, parent.group);
    const child = Buffer.alloc(10);
    child.write(parent.flow, 0, 'hex');
    child.writeUInt16BE(parent.index, 8);
    await this.#reports.submit(shard, {
      parentId,
      child,
      state: String.fromCharCode(end[0]!),
      reason: failureOf(identity, end),
      kept: encodeChild(identity, end),
    });
  }

  async #store(node: FlowNode): Promise<boolean> {
    if (node.children.length > 0) return this.open(node);
    const { queue, storedId, priority, group, record } = node;
    const enqueuer = this.queues.enqueuer(queue);
    if (!enqueuer.isOpen) await enqueuer.open();
    const request = {
      id: decodeTaskId(storedId),
      storedId,
      priority,
      group,
      isExtended: true,
      record,
      checking: undefined,
    };
    const { isDuplicate } = await enqueuer.submit(request);
    return !isDuplicate;
  }

  /** The id was stored already: by somebody who died or was slow in the same place, or for something else. */
  async #isOurs({ queue, storedId, group }: FlowNode, parent: ParentAddress): Promise<boolean> {
    const shard = await this.queues.shardOf(queue, storedId, group);
    const stored = await this.#redis.callBuffer('hget', [shard.keys.of.tasks, storedId]);
    // It has ended and is forgotten: its report is under way, and ends this.
    if (stored === null)
      throw new Error(`task ${decodeTaskId(storedId)} of queue ${queue} has come and gone`);
    // Children never are.
    if (isSealed(stored as Buffer)) return false;
    const { parent: owner } = decodeRecord(stored as Buffer).extras;
    return owner?.flow === parent.flow && owner.index === parent.index;
  }

  #fail(identity: ChildIdentity, parent: ParentAddress, reason: string): Promise<void> {
    const head = Buffer.alloc(11);
    head.write('D', 0, 'latin1');
    head.writeDoubleBE(Date.now(), 1);
    return this.report(identity, parent, Buffer.concat([head, Buffer.from(reason)]));
  }

  /** Stores the children of a task that has just been stored. What fails is left to the outbox. */
  async #sendAll({ redis, keys }: Shard, { flow, children }: FlowNode): Promise<void> {
    const waiting = children.map((bytes, index) => {
      const field = Buffer.concat([Buffer.from('e'), flow, Buffer.alloc(2)]);
      field.writeUInt16BE(index, field.length - 2);
      return this.storeChild(bytes).then(() => field);
    });
    const outcomes = await Promise.allSettled(waiting);
    const sent = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    try {
      if (sent.length > 0) await redis.call('hdel', [keys.of.flows, ...sent]);
      if (sent.length < children.length) return;
      await redis.call('hdel', [keys.of.outbox, Buffer.concat([Buffer.from('e'), flow])]);
    } catch {
      // The flow is there; who finds this in the outbox stores nothing twice.
    }
  }

  async #open(shard: Shard, nodes: readonly FlowNode[]): Promise<(boolean | Error)[]> {
    const { queue, settings } = shard;
    const reply = await shard.call((keys, common) => {
      const parents = nodes.flatMap(({ storedId, priority, record, flow, policy, children }) => {
        setLane(record, settings.laneOf(priority));
        return [storedId, record, flow, policy, children.length, ...children];
      });
      return flowOpen.run(shard.redis, keys, { ...common, graceMs: GRACE_MS, parents });
    });
    return nodes.map(({ storedId }, index) => {
      const answer = (reply as string)[index];
      if (answer === 'C') return new TaskConflictError(queue, decodeTaskId(storedId));
      if (answer === 'F') return new QueueFullError(queue, settings.values.maxTasks ?? DEFAULT_MAX_TASKS);
      return answer === '1';
    });
  }

  async #report(shard: Shard, batch: readonly Report[]): Promise<undefined[]> {
    const reports = batch.flatMap(({ parentId, child, state, reason, kept }) => [
      parentId,
      child,
      state,
      reason,
      kept,
    ]);
    await shard.call((keys, common) => flowReport.run(shard.redis, keys, { ...common, reports }));
    return batch.map(() => undefined);
  }
}

/** As in flow.open.lua. */
const DEFAULT_MAX_TASKS = 10_000_000;

/** It will not be better later. */
function isHopeless(error: unknown): error is Error {
  return (
    error instanceof RangeError ||
    error instanceof TypeError ||
    error instanceof TaskConflictError ||
    error instanceof PrioritiesMismatchError
  );
}
