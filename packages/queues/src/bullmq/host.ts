/** The object that made a job: a queue, a worker, or a queue of a flow. */
import type { Store } from './store.js';
import { storeOf } from './store.js';
import type { JobDetails, StoredParent } from './stored-job.js';
import type { JobsOptions, QueueBaseOptions } from './types.js';

export type EndByHand =
  | { readonly verdict: 'S'; readonly value: unknown }
  | { readonly verdict: 'D'; readonly error: Error };

/** A job as the parts of the layer see it. */
export interface JobLike {
  id?: string;
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
  readonly delay: number;
  readonly priority: number;
  readonly timestamp: number;
  readonly parent?: StoredParent | undefined;
  readonly parentKey?: string | undefined;
  readonly queueQualifiedName: string;
  readonly details: JobDetails;
  readonly isParent: boolean;
  readonly queue: JobHost;
  setHasChildren(): void;
}

export interface JobHost {
  readonly name: string;
  readonly qualifiedName: string;
  readonly opts: QueueBaseOptions;
  readonly store: Store;
  emit(event: string, ...args: unknown[]): boolean;
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature of EventEmitter
  on(event: string, listener: (...args: any[]) => void): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature of EventEmitter
  removeListener(event: string, listener: (...args: any[]) => void): unknown;
  /** The queue of a job by the key of the job, as `prefix:queue:id`. */
  storeOfKey(key: string): { store: Store; id: string };
  storeOfQueue(qualifiedName: string): Store;
  /** Ends a job that `getNextJob` returned; resolves to the instant. */
  endByHand(job: JobLike, token: string, end: EndByHand): Promise<number>;
  nextByHand(token: string, fetchNext: boolean): Promise<NextJob>;
}

/** The next job, its id, and two numbers of BullMQ; or none. */
export type NextJob = [object, string, number, number] | [];

/** A job by its key. A prefix and an id may have colons, a name of a queue has none; most children share the prefix of their parent. */
export function storeOfKey(store: Store, key: string): { store: Store; id: string } {
  const own = `${store.prefix}:`;
  const prefix = key.startsWith(own) ? store.prefix : key.split(':', 1)[0]!;
  const [queue = '', ...id] = key.slice(prefix.length + 1).split(':');
  return { store: storeOf(store.redis, prefix, queue), id: id.join(':') };
}

export function storeOfQueue(store: Store, qualifiedName: string): Store {
  const end = qualifiedName.lastIndexOf(':');
  return storeOf(store.redis, qualifiedName.slice(0, end), qualifiedName.slice(end + 1));
}
