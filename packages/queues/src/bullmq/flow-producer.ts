/**
 * Adds trees of jobs, as BullMQ's class of this name. A parent is stored before its children, each in the slot of its queue. After a
 * crash in between the parent waits for children that don't exist: remove it, and add the flow again.
 */
import { callRedis } from '@mortise/redis';
import { newTaskId } from '../task/new-task-id.js';
import { EventEmitter } from 'node:events';
import { addJob } from './adding.js';
import type { Connection } from './connection.js';
import { connect, disconnect } from './connection.js';
import { checkOptions } from './job-options.js';
import type { JobHost } from './host.js';
import { Job } from './job.js';
import { hostOf } from './queue-host.js';
import { storeOf } from './store.js';
import type { JobsOptions, ParentOptions, QueueBaseOptions, QueueOptions } from './types.js';

export interface FlowJob {
  name: string;
  queueName: string;
  data?: unknown;
  prefix?: string | undefined;
  opts?: JobsOptions | undefined;
  children?: FlowJob[] | undefined;
}

export interface JobNode {
  job: Job;
  children?: JobNode[] | undefined;
}

export interface FlowOpts {
  queuesOptions: Record<string, Omit<QueueOptions, 'connection' | 'prefix'>>;
}

export interface NodeOpts {
  queueName: string;
  id: string;
  prefix?: string | undefined;
  depth?: number | undefined;
  maxChildren?: number | undefined;
}

/** A job of a tree before it is stored. */
interface Planned {
  readonly job: Job;
  readonly children: readonly Planned[];
}

const DEFAULT_PREFIX = 'bull';
const DEFAULT_DEPTH = 10;
const DEFAULT_CHILDREN = 20;

export class FlowProducer extends EventEmitter {
  closing: Promise<void> | undefined;
  readonly #connection: Connection;

  constructor(public opts: QueueBaseOptions = {}) {
    super();
    this.#connection = connect(opts.connection, (error) => {
      if (this.listenerCount('error') > 0) this.emit('error', error);
    });
  }

  async waitUntilReady(): Promise<void> {
    await callRedis(this.#connection.redis, 'ping', []);
  }

  async add(flow: FlowJob, { queuesOptions = {} }: Partial<FlowOpts> = {}): Promise<JobNode> {
    validate([flow]);
    const planned = this.#plan(flow, flow.opts?.parent, queuesOptions);
    await this.#store(planned);
    return nodeOf(planned);
  }

  async addBulk(flows: FlowJob[]): Promise<JobNode[]> {
    validate(flows);
    const planned = flows.map((flow) => this.#plan(flow, flow.opts?.parent, {}));
    for (const one of planned) await this.#store(one);
    return planned.map((one) => nodeOf(one));
  }

  #plan(node: FlowJob, parent: ParentOptions | undefined, queues: FlowOpts['queuesOptions']): Planned {
    const host = this.#host(node.queueName, node.prefix, queues[node.queueName]);
    const id = node.opts?.jobId || newTaskId().id;
    const defaults = queues[node.queueName]?.['defaultJobOptions'] as JobsOptions | undefined;
    const opts: JobsOptions = { ...defaults, ...node.opts, parent };
    if (parent === undefined) delete opts.parent;
    const job = new Job(host, node.name, node.data, opts, id);
    checkOptions(job);
    const own = { id, queue: host.qualifiedName };
    const children = (node.children ?? []).map((child) => this.#plan(child, own, queues));
    return { job, children };
  }

  async #store({ job, children }: Planned): Promise<void> {
    const keys = children.map(({ job: child }) => `${child.queueQualifiedName}:${child.id}`);
    await addJob(job, keys.length > 0 ? { children: keys } : {});
    await Promise.all(children.map((child) => this.#store(child)));
  }

  #host(queueName: string, prefix: string | undefined, opts: QueueBaseOptions = {}): JobHost {
    const store = storeOf(this.#connection.redis, prefix ?? this.opts.prefix ?? DEFAULT_PREFIX, queueName);
    return hostOf(store, this, opts);
  }

  /** The tree of a job, to a depth and a number of children. */
  async getFlow(options: NodeOpts): Promise<JobNode | undefined> {
    const { queueName, prefix, id, depth = DEFAULT_DEPTH, maxChildren = DEFAULT_CHILDREN } = options;
    return this.#getNode(this.#host(queueName, prefix), id, depth, maxChildren);
  }

  async #getNode(host: JobHost, id: string, depth: number, count: number): Promise<JobNode | undefined> {
    const job = await Job.fromId(host, id);
    if (!job) return undefined;
    const page = { count };
    const found = await job.getDependencies({
      processed: page,
      unprocessed: page,
      failed: page,
      ignored: page,
    });
    const keys = [
      ...Object.keys(found.processed ?? {}),
      ...(found.unprocessed ?? []),
      ...(found.failed ?? []),
      ...Object.keys(found.ignored ?? {}),
    ];
    if (keys.length === 0 || depth <= 1) return { job };
    const children = await Promise.all(
      keys.map((key) => {
        const { store, id: childId } = host.storeOfKey(key);
        return this.#getNode(hostOf(store, this), childId, depth - 1, count);
      }),
    );
    return { job, children: children.filter((child) => child !== undefined) };
  }

  async close(): Promise<void> {
    this.closing ??= disconnect(this.#connection);
    await this.closing;
  }

  disconnect(): Promise<void> {
    return this.close();
  }
}

function nodeOf({ job, children }: Planned): JobNode {
  return children.length > 0 ? { job, children: children.map((child) => nodeOf(child)) } : { job };
}

function validate(nodes: readonly FlowJob[]): void {
  for (const { children, opts } of nodes) {
    if (!children || children.length === 0) continue;
    if (opts?.deduplication) {
      throw new Error('Deduplication options cannot be used on flow nodes with children');
    }
    validate(children);
  }
}
