/**
 * The tasks of a flow before they are stored: a checked tree, encoded as bytes. A child that is not stored yet lies beside
 * its parent as
 *
 *
 *   u16 length · queue | u8 length · priority | u16 length · id as stored | u16 length · group |
 *   8 bytes flow | u8 policy | u32 length · record | for each child of its own: u32 length, this again
 *
 * Without a group its length is 0xffff; without children flow and policy are unused.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  ArgumentRangeError,
  ArgumentTypeError,
  requireKnown,
  requireName,
  requireObject,
  shownValue,
} from '@mortise/redis';
import { InvalidFlowError } from '../errors.js';
import type { EnqueueOptions } from '../options.js';
import { requireEnqueueOptions, resolveGroup } from '../options.js';
import type { Enqueue } from '../enqueue/entries.js';
import type { Prepared } from '../enqueue/enqueuer.js';
import type { Extras, ParentAddress } from '../task/record.js';
import type { PayloadOf } from '../task-types.js';
import { CHILD, PARENT } from '../task/record.js';
import { newTaskId } from '../task/new-task-id.js';
import { encodeTaskId } from '../task/task-id.js';
import { childId, encodeChildren } from './child-list.js';

interface FlowFields<Tasks> {
  /**
   * The options of `enqueue`, without `dedupMs`. The delay of a task with children begins when all children have ended;
   * `expiresInMs` counts from the enqueue. The default `id` is derived from the parent's id, so a repeated call names the same
   * tasks. A given id must not belong to a stored task, nor still be refused by `dedupMs`, whatever the payload: see
   * `enqueueFlow`.
   */
  readonly options?: EnqueueOptions | undefined;
  /**
   * The effect of a child that is dead, cancelled or removed. `fail`: this task is dead at once, with a reason that names the
   * child. `ignore`: this task runs when all children have ended. Default `fail`.
   */
  readonly onChildFailure?: 'fail' | 'ignore' | undefined;
  /** Tasks that must end before this one runs. Up to 10 levels and 1,000 tasks in all. */
  readonly children?: readonly FlowTask<Tasks>[] | undefined;
}

/** A task of a flow with its children. A child in another queue names it; both queues must have the same prefix. */
export type FlowTask<Tasks = Record<string, unknown>> =
  | {
      [Name in keyof Tasks & string]: FlowFields<Tasks> & {
        readonly queue?: undefined;
        readonly name: Name;
        readonly payload: PayloadOf<Tasks, Name>;
      };
    }[keyof Tasks & string]
  | (FlowFields<Tasks> & { readonly queue: string; readonly name: string; readonly payload: unknown });

/** The ids of a flow, in the shape of its tree. */
export interface FlowIds {
  readonly queue: string;
  readonly id: string;
  readonly children: readonly FlowIds[];
}

/** Throws TypeError unless `enqueueFlow` returned the value. */
export function requireFlowIds(ids: FlowIds): void {
  requireObject('a flow', ids);
  const { queue, id, children } = ids;
  if (typeof queue === 'string' && typeof id === 'string' && Array.isArray(children)) return;
  throw new ArgumentTypeError('a flow must be what enqueueFlow returned: a queue, an id, and children');
}

/** A task of the tree, ready to be stored. */
export interface FlowNode {
  readonly queue: string;
  readonly storedId: Buffer;
  readonly priority: string | undefined;
  readonly group: string | undefined;
  readonly record: Buffer;
  readonly flow: Buffer;
  /** 1: this task is dead when a child fails. */
  readonly policy: number;
  readonly children: readonly Buffer[];
}

/** As `Enqueuer.prepare`, for any queue. */
export type Prepare = (
  queue: string,
  name: string,
  payload: unknown,
  options: EnqueueOptions,
  flags: number,
  more: Partial<Extras>,
) => Prepared;

const MAX_DEPTH = 10;
const MAX_TASKS = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
const FLOW_BYTES = 8;
const TASK_FIELDS = new Set(['queue', 'name', 'payload', 'options', 'onChildFailure', 'children']);
const NO_GROUP = 0xffff;
/** 96 bits of a hash, enough to tell two trees with one id apart. */
const TREE_CHARS = 16;

export interface Flow {
  readonly root: FlowNode;
  readonly ids: FlowIds;
  /** The requests to check against the settings of each queue. */
  readonly requests: ReadonlyMap<string, readonly Enqueue[]>;
  /** Tasks below the root with an id of the caller. */
  readonly named: ReadonlySet<Enqueue>;
  /** Equal for equal trees of children and ids; undefined without children or without an id of the root. */
  readonly tree: string | undefined;
}

/** Checks a tree and encodes it. Throws ERR_INVALID_FLOW, and the errors of its tasks. */
export function makeFlow(queue: string, root: FlowTask, prepare: Prepare): Flow {
  const requests = new Map<string, Enqueue[]>();
  const named = new Set<Enqueue>();
  const print = root?.options?.id === undefined ? undefined : createHash('sha256');
  let tree: string | undefined;
  const seen = new Set<string>();
  let bytes = 0;

  const make = (task: FlowTask, depth: number, parent: ParentAddress | undefined): [FlowNode, FlowIds] => {
    const refuse = (reason: string): never => {
      throw new InvalidFlowError(queue, reason);
    };
    if (depth > MAX_DEPTH) refuse(`has more than ${MAX_DEPTH} levels`);
    if (seen.size >= MAX_TASKS) refuse(`has more than ${MAX_TASKS} tasks`);
    requireObject('a task of a flow', task);
    requireKnown('a task of a flow', task, TASK_FIELDS);
    const { name, payload, options = {}, children = [], onChildFailure = 'fail', queue: own = queue } = task;
    requireName('queue', own);
    requireEnqueueOptions(options);
    if (options.id !== undefined) encodeTaskId(options.id);
    if (options.dedupMs !== undefined) refuse('has a task with dedupMs');
    if (onChildFailure !== 'fail' && onChildFailure !== 'ignore') {
      throw new ArgumentRangeError(
        `onChildFailure must be fail or ignore, got ${shownValue(onChildFailure)}`,
      );
    }
    if (!Array.isArray(children)) throw new ArgumentTypeError('children must be an array');
    const id = options.id ?? (parent ? childId(parent, parent.index) : newTaskId().id);
    const place = JSON.stringify([own, id]);
    if (seen.has(place)) refuse(`has the id ${JSON.stringify(id)} twice`);
    seen.add(place);
    const flow = randomBytes(FLOW_BYTES);
    const group = resolveGroup(options.group);
    const made = children.map((child: FlowTask, index) =>
      make(child, depth + 1, {
        queue: own,
        id,
        ...(group !== undefined && { group }),
        flow: flow.toString('hex'),
        index,
      }),
    );
    if (!parent && made.length > 0) tree = print?.digest('base64url').slice(0, TREE_CHARS);
    const flags = (parent ? CHILD : 0) | (children.length > 0 ? PARENT : 0);
    const addresses = made.map(([, ids], index) => ({
      ...ids,
      given: children[index]!.options?.id !== undefined,
    }));
    const list = encodeChildren({ queue: own, id }, addresses);
    const more = {
      ...(parent && { parent }),
      ...(!parent && tree !== undefined && { tree }),
      ...(list && { children: list }),
    };
    const request = prepare(own, name, payload, { ...options, id }, flags, more);
    const { priority, record } = request;
    if (parent) print?.update(JSON.stringify([depth, own, id, name])).update(record.payload);
    if (parent && options.id !== undefined) named.add(request);
    bytes += record.length;
    if (bytes > MAX_BYTES) refuse(`has more than ${MAX_BYTES} bytes`);
    const others = requests.get(own);
    if (others) others.push(request);
    else requests.set(own, [request]);
    const node = {
      queue: own,
      storedId: encodeTaskId(id),
      priority,
      group,
      record: record.encode(),
      flow,
      policy: onChildFailure === 'fail' ? 1 : 0,
      children: made.map(([child]) => encodeNode(child)),
    };
    return [node, { queue: own, id, children: made.map(([, ids]) => ids) }];
  };

  const [node, ids] = make(root, 1, undefined);
  return { root: node, ids, requests, named, tree };
}

function encodeNode(node: FlowNode): Buffer {
  const queue = Buffer.from(node.queue);
  const priority = Buffer.from(node.priority ?? '');
  const group = Buffer.from(node.group ?? '');
  const parts = [
    uint16(queue.length),
    queue,
    Buffer.from([priority.length]),
    priority,
    uint16(node.storedId.length),
    node.storedId,
    uint16(node.group === undefined ? NO_GROUP : group.length),
    group,
    node.flow,
    Buffer.from([node.policy]),
    uint32(node.record.length),
    node.record,
  ];
  for (const child of node.children) parts.push(uint32(child.length), child);
  return Buffer.concat(parts);
}

export function decodeNode(bytes: Buffer): FlowNode {
  let at = 0;
  const take = (length: number): Buffer => bytes.subarray(at, (at += length));
  const queue = take(take(2).readUInt16BE()).toString();
  const priority = take(take(1).readUInt8()).toString();
  const storedId = take(take(2).readUInt16BE());
  const groupLength = take(2).readUInt16BE();
  const group = groupLength === NO_GROUP ? undefined : take(groupLength).toString();
  const flow = take(FLOW_BYTES);
  const policy = take(1).readUInt8();
  const record = take(take(4).readUInt32BE());
  const children: Buffer[] = [];
  while (at < bytes.length) children.push(take(take(4).readUInt32BE()));
  return { queue, priority: priority || undefined, storedId, group, record, flow, policy, children };
}

function uint16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
