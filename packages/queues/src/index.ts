export type { TaskContext } from './attempt.js';
export {
  Discard,
  InvalidPayloadError,
  LeaseLostError,
  PayloadTooLargeError,
  PrioritiesMismatchError,
  ResultNotKeptError,
  RetryLater,
  UnknownTaskError,
  WorkerStoppedError,
} from './errors.js';
export type { Backoff, EnqueueOptions, QueueOptions, WorkerOptions } from './options.js';
export { DEFAULTS } from './options.js';
export type { Enqueued } from './queue.js';
export { Queue } from './queue.js';
export type { Counts, NewTask, Task, TaskMap, TaskState } from './task.js';
export type { Handler, Handlers } from './worker.js';
export { Worker } from './worker.js';
