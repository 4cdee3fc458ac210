/* oxlint-disable typescript/no-explicit-any -- the defaults of BullMQ: code that moves has jobs of any data */
/** The fields of a job with the names of BullMQ 6. */
import { normalizeBackoff } from './backoffs.js';
import type { JobHost } from './host.js';
import type { JobDetails, StoredParent } from './stored-job.js';
import type { JobsOptions } from './types.js';

const NO_OPTIONS: JobsOptions = {};
/** JSON in the result of `asJSON`, beside the data. */
const TEXTS = ['failedReason', 'returnvalue', 'stacktrace'];
/** Results of `asJSON` for parents: BullMQ has no field for it. */
const parents = new WeakSet<object>();

export class JobFields<Data = any, Result = any, Name extends string = string> {
  id?: string;
  progress: any = 0;
  returnvalue: Result = null as Result;
  stacktrace: string[] | null = null;
  delay: number;
  priority: number;
  timestamp: number;
  attemptsStarted = 0;
  attemptsMade = 0;
  stalledCounter = 0;
  failedReason!: string;
  deferredFailure?: string;
  finishedOn?: number | null;
  processedOn?: number | null;
  parentKey?: string | undefined;
  parent?: StoredParent | undefined;
  deduplicationId?: string | undefined;
  repeatJobKey?: string | undefined;
  token?: string | undefined;
  processedBy?: string | undefined;
  opts: JobsOptions;
  readonly queueQualifiedName: string;
  /** Whether it has children; see layer.child.lua. */
  protected hasChildren = false;
  /** Not a field: jobs are compared and shown by theirs. */
  readonly #queue: JobHost;

  constructor(
    queue: JobHost,
    public name: Name,
    public data: Data,
    opts: JobsOptions = NO_OPTIONS,
    id?: string,
    timestamp?: number,
  ) {
    this.#queue = queue;
    this.queueQualifiedName = queue.qualifiedName;
    if (id !== undefined) this.id = id;
    if (opts === NO_OPTIONS) {
      this.opts = { attempts: 0 };
      this.delay = 0;
      this.priority = 0;
      this.timestamp = timestamp ?? Date.now();
      return;
    }
    const { repeatJobKey, ...rest } = opts;
    this.opts = { attempts: 0, ...rest };
    if (rest.backoff !== undefined) this.opts.backoff = normalizeBackoff(rest.backoff);
    this.delay = opts.delay ?? 0;
    this.priority = opts.priority || 0;
    this.repeatJobKey = repeatJobKey;
    this.timestamp = opts.timestamp || Date.now();
    const { parent } = opts;
    if (parent) {
      this.parentKey = `${parent.queue}:${parent.id}`;
      this.parent = {
        id: parent.id,
        queueKey: parent.queue,
        ...(opts.failParentOnFailure && { fpof: true }),
        ...(opts.removeDependencyOnFailure && { rdof: true }),
        ...(opts.ignoreDependencyOnFailure && { idof: true }),
        ...(opts.continueParentOnFailure && { cpof: true }),
      };
    }
    this.deduplicationId = opts.deduplication?.id;
  }

  /** The job of what `moveToCompleted` returned: its next job, with the id of that. */
  static fromJSON<Made extends JobFields>(
    this: new (queue: JobHost, name: string, data: any, opts?: JobsOptions, id?: string) => Made,
    queue: JobHost,
    json: any,
    jobId?: string,
  ): Made {
    const { id = jobId, name, opts, ...fields } = json as ReturnType<JobFields['asJSON']>;
    const data = parsed(fields['data']) ?? {};
    const job = new this(queue, name as string, data, opts as JobsOptions, id as string | undefined);
    for (const field of TEXTS) if (field in fields) fields[field] = parsed(fields[field]);
    Object.assign(job, fields, { data });
    if (parents.has(json as object)) job.setHasChildren();
    return job;
  }

  get queue(): JobHost {
    return this.#queue;
  }

  /** The stored fields beside the data; see `JobDetails`. */
  get details(): JobDetails {
    const { attempts, repeatJobKey: _, ...others } = this.opts;
    const opts = { ...(attempts !== undefined && attempts !== 0 && { attempts }), ...others };
    const hasOptions = Object.values(opts).some((value) => value !== undefined);
    return {
      ...(hasOptions && { o: opts, t: this.timestamp }),
      ...(this.delay && { d: this.delay }),
      ...(this.priority && { p: this.priority }),
      ...(this.repeatJobKey !== undefined && { r: this.repeatJobKey }),
      ...(this.parent && { pa: this.parent }),
      ...(this.attemptsMade && { a: this.attemptsMade }),
      ...(this.attemptsStarted && { s: this.attemptsStarted }),
      ...(this.stalledCounter && { sc: this.stalledCounter }),
      ...(this.stacktrace && this.stacktrace.length > 0 && { st: this.stacktrace }),
      ...(typeof this.failedReason === 'string' && { fr: this.failedReason }),
      ...(this.processedOn && { po: this.processedOn }),
      ...(this.processedBy !== undefined && { pb: this.processedBy }),
      ...(this.hasChildren && { c: 1 as const }),
    };
  }

  /** Marks it as a parent. */
  setHasChildren(): void {
    this.hasChildren = true;
  }

  get isParent(): boolean {
    return this.hasChildren;
  }

  get queueName(): string {
    return this.#queue.name;
  }

  get prefix(): string {
    return this.#queue.store.prefix;
  }

  toJSON(): object {
    const { hasChildren: _, ...fields } = this;
    return fields;
  }

  asJSON(): Record<string, unknown> {
    const fields = {
      id: this.id,
      name: this.name,
      data: JSON.stringify(this.data === undefined ? {} : this.data),
      opts: this.opts,
      parent: this.parent && { ...this.parent },
      parentKey: this.parentKey,
      progress: this.progress as unknown,
      attemptsMade: this.attemptsMade,
      attemptsStarted: this.attemptsStarted,
      stalledCounter: this.stalledCounter,
      finishedOn: this.finishedOn,
      processedOn: this.processedOn,
      timestamp: this.timestamp,
      failedReason: JSON.stringify(this.failedReason),
      stacktrace: JSON.stringify(this.stacktrace),
      deduplicationId: this.deduplicationId,
      repeatJobKey: this.repeatJobKey,
      returnvalue: JSON.stringify(this.returnvalue),
    };
    const json = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    if (this.hasChildren) parents.add(json);
    return json;
  }
}

/** Of BullMQ itself, a text may be no JSON. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
