/* oxlint-disable typescript/no-explicit-any -- the types of BullMQ */
/** The events of `QueueEvents` with the types of BullMQ 6. Each has the cursor of the event as its last argument. */
import type { JobProgress } from './types.js';

type Listener<Args> = (args: Args, id: string) => void;

interface OfJob {
  readonly jobId: string;
}

interface Moved extends OfJob {
  /** The state before. */
  readonly prev?: string;
}

/** Extend it with events of your own, for `queueEvents.on<MyListener>(…)`. */
export interface QueueEventsListener<Result = any> {
  active: Listener<Moved>;
  added: Listener<OfJob & { readonly name: string }>;
  cleaned: Listener<{ readonly count: string }>;
  completed: Listener<Moved & { readonly returnvalue: Result }>;
  deduplicated: Listener<OfJob & { readonly deduplicationId: string; readonly deduplicatedJobId: string }>;
  /** `delay` is the instant at which the job is due, ms. */
  delayed: Listener<OfJob & { readonly delay: number }>;
  drained: (id: string) => void;
  duplicated: Listener<OfJob>;
  error: (error: Error) => void;
  failed: Listener<Moved & { readonly failedReason: string }>;
  paused: Listener<object>;
  progress: Listener<OfJob & { readonly data: JobProgress }>;
  removed: Listener<OfJob & { readonly prev: string }>;
  resumed: Listener<object>;
  'retries-exhausted': Listener<OfJob & { readonly attemptsMade: string }>;
  stalled: Listener<OfJob>;
  waiting: Listener<Moved>;
  'waiting-children': Listener<OfJob>;
}
