export {
  BullmqUnsupportedError,
  DelayedError,
  RateLimitError,
  UnrecoverableError,
  WaitingChildrenError,
  WaitingError,
} from './errors.js';
export type { FlowJob, FlowOpts, JobNode, NodeOpts } from './flow-producer.js';
export { FlowProducer } from './flow-producer.js';
export { Job } from './job.js';
export type { JobSchedulerJson } from './job-scheduler.js';
export { JobScheduler } from './job-scheduler.js';
export { Queue } from './queue.js';
export type { QueueEventsOptions } from './queue-events.js';
export type { QueueEventsListener } from './queue-events-listener.js';
export { QueueEvents, QueueEventsProducer } from './queue-events.js';
export { getNextMillis } from './repeat.js';
export type {
  AdvancedOptions,
  BackoffOptions,
  BackoffStrategy,
  ConnectionOptions,
  DeduplicationOptions,
  FinishedStatus,
  JobProgress,
  JobsOptions,
  JobState,
  JobType,
  KeepJobs,
  ParentOptions,
  QueueBaseOptions,
  QueueOptions,
  RateLimiterOptions,
  RepeatOptions,
  RepeatStrategy,
  RetryOptions,
  WorkerOptions,
} from './types.js';
export type { Processor } from './processor.js';
export { Worker } from './worker.js';
