/**
 * Stores flows, whose queues may lie in different slots.
 *
 * One script call stores the root with all tasks below it: from then on the flow exists. The tasks below it are then stored
 * in their own queues, level by level, each by one idempotent step, and removed from beside the root. The process may die
 * at any time: the outbox of the parent's shard lists the remaining steps, and workers of that queue do them (see `Relay`).
 * Rejected: children first, whose parent may never come; one hash tag for all queues of a flow, which would put them all
 * into one slot.
 */
import type { RedisClient } from '@mortise/redis';
import { callRedis, callRedisBuffer, Coalescer, withoutLink } from '@mortise/redis';
import { QueueFullError, SettingsMismatchError, TaskConflictError } from '../errors.js';
import { DEFAULT_MAX_TASKS } from '../limits.js';
import { flowOpen, flowReport, flowStored } from '../scripts.gen.js';
import { isGone } from '../shard/settings.js';
import type { Shard } from '../shard/shard.js';
import type { ParentAddress } from '../task/record.js';
import { decodeRecord, setPriority } from '../task/record.js';
import { isCompact } from '../task/compact-record.js';
import { decodeTaskId, encodeTaskId } from '../task/task-id.js';
import type { ChildIdentity } from './child.js';
import { childField, encodeChild, failureOf } from './child.js';
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

/** The part of a flow in the shard of its root. */
interface SameShard {
  /** Tasks, the root included. */
  readonly size: number;
  /** Ids of children that the caller gave. */
  readonly given: readonly Buffer[];
}

interface FlowRoot extends SameShard {
  readonly node: FlowNode;
}

/** For a child with children of its own: the flow was checked with its root. */
const ROOT_ONLY: SameShard = { size: 1, given: [] };
/** After this time workers store the children that the caller has not stored. */
const GRACE_MS = 5_000;
const MAX_OPENS = 64;
const MAX_REPORTS = 200;
const MAX_BATCH_BYTES = 2 * 1024 * 1024;

export class FlowStore {
  readonly queues: FlowQueues;
  readonly #redis: RedisClient;
  readonly #opens = new Coalescer<Shard, FlowRoot, boolean>((shard, roots) => this.#open(shard, roots), {
    maxBatch: MAX_OPENS,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: ({ node }) => node.children.reduce((sum, child) => sum + child.length, node.record.length),
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

  /**
   * Stores a task with children, then tries to store these. Resolves to whether the task is new. Rejects with
   * ERR_QUEUE_FULL or ERR_TASK_CONFLICT, also for tasks in the shard of the root; then nothing is stored.
   */
  async open(node: FlowNode, near = ROOT_ONLY): Promise<boolean> {
    const shard = await this.queues.shardOf(node.queue, node.storedId, node.group);
    let isNew: boolean;
    try {
      isNew = await this.#opens.submit(shard, { node, ...near });
    } catch (error) {
      if (!isGone(error)) throw error;
      await this.queues.enqueuer(node.queue).reopen();
      return this.open(node, near);
    }
    if (isNew) await this.#sendAll(shard, node);
    return isNew;
  }

  /** Rejects with ERR_TASK_CONFLICT unless the task is the root of that tree. One round trip. */
  async requireTree({ queue, storedId, group }: FlowNode, tree: string | undefined): Promise<void> {
    const stored = await this.#stored(queue, storedId, group);
    // The task is gone, so there is nothing to compare with.
    if (!stored) return;
    // Parents have no compact record.
    const found = isCompact(stored) ? undefined : decodeRecord(stored).extras.tree;
    if (found !== tree) throw new TaskConflictError(queue, decodeTaskId(storedId), [], 'with other children');
  }

  /**
   * Stores a child in its queue, or reports to its parent that this is impossible. Resolves to false, or rejects, if it
   * must be retried later.
   *
   * @param isLast The last try: a full queue counts as impossible too.
   */
  async storeChild(bytes: Buffer, isLast = false): Promise<boolean> {
    const node = decodeNode(bytes);
    const record = decodeRecord(node.record);
    const identity = { queue: node.queue, id: decodeTaskId(node.storedId), name: record.name };
    const parent = record.extras.parent!;
    try {
      if (await this.#store(node)) return true;
      const owner = await this.#owner(node, parent);
      if (owner === 'nobody') return false;
      if (owner === 'others') await this.#fail(identity, parent, 'the id belongs to another task');
    } catch (error) {
      if (!isPermanent(error) && !(isLast && error instanceof QueueFullError)) throw error;
      await this.#fail(identity, parent, withoutLink(error.message));
    }
    return true;
  }

  /** Reports the end of a child to its parent. */
  async report(identity: ChildIdentity, parent: ParentAddress, end: Buffer): Promise<void> {
    const parentId = encodeTaskId(parent.id);
    const shard = await this.queues.shardOf(parent.queue, parentId, parent.group);
    await this.#reports.submit(shard, {
      parentId,
      child: childField(parent),
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
      usesOptional: true,
      record,
      checking: undefined,
    };
    const { isDuplicate } = await enqueuer.submit(request);
    return !isDuplicate;
  }

  /** Whose task has this id: the same child, stored by an earlier try, or another task. */
  async #owner(
    { queue, storedId, group }: FlowNode,
    parent: ParentAddress,
  ): Promise<'us' | 'others' | 'nobody'> {
    const stored = await this.#stored(queue, storedId, group);
    if (stored === null) {
      // No record: the id is still refused by `dedupMs`, or our child has ended and was removed, and its report is under
      // way.
      return (await this.#isRemembered(queue, storedId, group)) ? 'others' : 'nobody';
    }
    // Children have no compact record.
    if (isCompact(stored)) return 'others';
    const { parent: owner } = decodeRecord(stored).extras;
    return owner?.flow === parent.flow && owner.index === parent.index ? 'us' : 'others';
  }

  async #stored(queue: string, storedId: Buffer, group: string | undefined): Promise<Buffer | null> {
    const shard = await this.queues.shardOf(queue, storedId, group);
    return (await callRedisBuffer(this.#redis, 'hget', [shard.keys.of.tasks, storedId])) as Buffer | null;
  }

  /** Each enqueue removes expired ids, so an id that was refused just now is still listed if `dedupMs` is the reason. */
  async #isRemembered(queue: string, storedId: Buffer, group: string | undefined): Promise<boolean> {
    const shard = await this.queues.shardOf(queue, storedId, group);
    return (await callRedis(this.#redis, 'zscore', [shard.keys.of.dedupIds, storedId])) !== null;
  }

  #fail(identity: ChildIdentity, parent: ParentAddress, reason: string): Promise<void> {
    const head = Buffer.alloc(11);
    head.write('D', 0, 'latin1');
    head.writeDoubleBE(Date.now(), 1);
    return this.report(identity, parent, Buffer.concat([head, Buffer.from(reason)]));
  }

  /** Stores the children of a task that was just stored. The outbox retries those that fail. */
  async #sendAll(shard: Shard, { flow, children }: FlowNode): Promise<void> {
    const outcomes = await Promise.allSettled(
      children.map(async (bytes, index) => {
        const { queue, storedId, group } = decodeNode(bytes);
        if (!(await this.storeChild(bytes))) return [];
        const isHere = (await this.queues.shardOf(queue, storedId, group)) === shard;
        return [index, isHere ? storedId : ''];
      }),
    );
    const stored = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    if (stored.length === 0) return;
    const { tasks, flows, outbox } = shard.keys.of;
    try {
      await flowStored.run(shard.redis, { tasks, flows, outbox }, { flow, count: children.length, stored });
    } catch {
      // The flow is stored. A worker that finds an entry in the outbox stores nothing twice.
    }
  }

  async #open(shard: Shard, roots: readonly FlowRoot[]): Promise<(boolean | Error)[]> {
    const { queue, settings } = shard;
    const reply = await shard.call((keys, common) => {
      const parents = roots.flatMap(({ node, size, given }) => {
        const { storedId, priority, record, flow, policy, children } = node;
        setPriority(record, settings.priorityIndex(priority));
        const near = [size, given.length, ...given];
        return [storedId, record, flow, policy, ...near, children.length, ...children];
      });
      return flowOpen.runBuffer(shard.redis, keys, { ...common, graceMs: GRACE_MS, parents });
    });
    const [outcomes, ...taken] = reply as [Buffer, ...Buffer[]];
    return roots.map(({ node }, index) => {
      const answer = String.fromCharCode(outcomes[index]!);
      if (answer === 'C') return new TaskConflictError(queue, decodeTaskId(node.storedId));
      if (answer === 'T') return new TaskConflictError(queue, decodeTaskId(taken.shift()!), [], TAKEN);
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

const TAKEN = 'already, or still refuses its id: a child of a flow needs a new one';

/** Whether a second try cannot succeed. */
function isPermanent(error: unknown): error is Error {
  return (
    error instanceof RangeError ||
    error instanceof TypeError ||
    error instanceof TaskConflictError ||
    error instanceof SettingsMismatchError
  );
}
