export type { ClaimedTask } from './claims/claimed-task.js';
export { Claims } from './claims/claims.js';
export type { ClaimedStep, ClaimedSteps, ClaimWaitOptions } from './claims/claim-steps.js';
export type { ClaimOptions, ClaimsOptions, FailOptions, GiveBackOptions } from './claims/options.js';
export type { TaskContext } from './work/attempt.js';
export type { WaitForOptions } from './work/attempt-steps.js';
export type { TaskStep } from './task/task-step.js';
export {
  AttemptError,
  CallFailedError,
  DeliveryError,
  Discard,
  EventTimeoutError,
  IdleTimeoutError,
  InvalidFlowError,
  InvalidPayloadError,
  InvalidScheduleError,
  MemoryFullError,
  QueueFullError,
  QueueInUseError,
  ResultTimeoutError,
  RetryLater,
  RunAtPastError,
  SandboxExitedError,
  StepError,
  SettingsMismatchError,
  TaskActiveError,
  TaskCancelledError,
  TaskConflictError,
  TaskDeadError,
  TaskNotFoundError,
  WorkerError,
} from './errors.js';
export type { TaskLeaseLostError } from './errors.js';
export {
  ClientClosedError,
  isEncoded,
  LeaseLostError,
  PayloadEncodedError,
  RedisUnreachableError,
} from '@mortise/redis';
export type { EncodedValue, PayloadCodec, Telemetry } from '@mortise/redis';
export type {
  Backoff,
  BackoffFunction,
  EnqueueOptions,
  FailedAttempt,
  Fairness,
  QueueOptions,
  WorkerOptions,
} from './options.js';
export { DEFAULTS } from './options.js';
export type { OnCodedError } from './on-coded-error.js';
export type { EndedAttempt, OnFailed, OnSucceeded } from './ended-attempt.js';
export type { DeliverOptions } from './operate/deliverer.js';
export type { RescheduleOptions } from './operate/reschedule-options.js';
export type { ConfigureOptions, QueueLimits, RateLimitOptions } from './operate/queue-limits.js';
export type { QueueEvent, QueueEventType } from './events/event.js';
export type { EventsOptions, LastEventsOptions } from './events/events.js';
export type { Child, FlowChildren } from './flow/child.js';
export type { GetOptions } from './inspect/look-up.js';
export type { TaskAddress } from './flow/child-list.js';
export type { FlowIds, FlowTask } from './flow/flow-node.js';
export type { EnqueuedFlow } from './flow/flows.js';
export type { IdleOptions } from './results/idle.js';
export type { ResultOptions } from './results/results.js';
export type { Enqueued, EnqueuedEach } from './enqueue/enqueuer.js';
export type { KeyedEnqueueOptions, OnDuplicate } from './enqueue/merge-options.js';
export { Queue } from './queue.js';
export type { ScheduledTaskOptions } from './schedule/definition.js';
export type { CronRule, IntervalRule, ScheduleRule } from './schedule/rule.js';
export type { Schedule, Scheduled } from './schedule/schedules.js';
export type { CleanOptions, DrainOptions, EndedState, RetryAllOptions } from './operate/bulk.js';
export type { ObliterateOptions } from './removal/obliteration.js';
export type { ListOptions, Page } from './inspect/list.js';
export type { EndsPerSecond, OverviewsReadOptions, QueueOverview } from './inspect/overview.js';
export { Overviews } from './inspect/overview.js';
export type { DueSpan, PriorityDepth, QueueDepths } from './inspect/depths.js';
export { queueDepthsOf } from './inspect/depths.js';
export { runningWorkers } from './inspect/running-workers.js';
export type { PayloadIssue } from './errors.js';
export type { InputSchemas, OutputSchemas, StandardSchemaV1 } from './standard-schema.js';
export type { Counts, NewTask, Task, TaskMap, TaskState, TaskSummary } from './task/task.js';
export type { PayloadOf, ResultOf, TaskId } from './task-types.js';
export { TASK_STATES } from './task/task.js';
export type { LogLine } from './task/log-lines.js';
export type { TaskError } from './task-error.js';
export type {
  BatchHandler,
  BatchTask,
  Handler,
  HandlerFunction,
  HandlerObject,
  HandlerOptions,
  Handlers,
} from './work/handlers.js';
export { Worker } from './work/worker.js';
