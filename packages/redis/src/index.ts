export { afterMicrotasks } from './after-microtasks.js';
export { ArgumentRangeError, ArgumentTypeError } from './argument-error.js';
export type { Backoff, ResolvedBackoff } from './backoff.js';
export { backoffDelayMs, resolveBackoff } from './backoff.js';
export { callAfter } from './call-after.js';
export { callRedis, callRedisBuffer } from './client-calls.js';
export { isClosed, onClosed } from './closure.js';
export type { CommandArgument, RedisClient, RedisConnection } from './client.js';
export type { EncodedValue, PayloadCodec } from './payload-codecs.js';
export {
  Codecs,
  decodedJson,
  isEncoded,
  looksEncoded,
  PayloadEncodedError,
  readJson,
} from './payload-codecs.js';
export type { CoalescerOptions, Outcomes, SendBatch } from './coalescer.js';
export { Coalescer } from './coalescer.js';
export type { LeaseEnd, LeaseLostOptions } from './coded-error.js';
export { BatchReplyError, ClientClosedError, CodedError, LeaseLostError } from './coded-error.js';
export { describeError } from './describe-error.js';
export { disposable } from './disposable.js';
export type { OnError } from './error-reporter.js';
export { ErrorReporter } from './error-reporter.js';
export { failureOf } from './failure-of.js';
export { ignorable } from './ignorable.js';
export { inexactNumber } from './inexact-number.js';
export { isTransient } from './is-transient.js';
export { DEFAULT_PREFIX, decodeName, encodeName, EntityKeys, KeySpace } from './key-space.js';
export { keySlot } from './key-slot.js';
export type { Listener } from './listener.js';
export type { LoopOptions, LoopStep } from './loop.js';
export { Loop, LOOP_DEFAULTS } from './loop.js';
export { Merged } from './merged.js';
export { metricsOf } from './metrics-of.js';
export { onAbort } from './on-abort.js';
export type { OwnedClient } from './owned-client.js';
export { ownedClient } from './owned-client.js';
export { perClient } from './per-client.js';
export type { Read } from './read-many.js';
export { readEach, readMany } from './read-many.js';
export {
  MAX_NAME_BYTES,
  requireArray,
  requireBoolean,
  requireDuration,
  requireFunction,
  requireInteger,
  requireIterable,
  requireKnown,
  requireName,
  requireNumber,
  requireObject,
  requireOneOf,
  requireOptions,
  requireSignal,
  requireText,
} from './require.js';
export type { RequireClientOptions } from './require-client.js';
export { requireClient } from './require-client.js';
export type { Resolved } from './resolved.js';
export { SafeSpan, SafeTelemetry } from './safe-telemetry.js';
export {
  RedisAuthError,
  RedisReadOnlyError,
  RedisUnreachableError,
  RedisVersionError,
} from './redis-errors.js';
export { reportUnreachable } from './report-unreachable.js';
export { Sampled } from './sampled.js';
export type { ScriptArgs, ScriptDefinition, ScriptKeys } from './script.js';
export { Script } from './script.js';
export { ServerClock } from './server-clock.js';
export { shownValue } from './shown-value.js';
export type {
  Metric,
  SpanEnd,
  SpanStart,
  Telemetry,
  TelemetryAttributes,
  TelemetrySpan,
  TraceContext,
} from './telemetry.js';
export type { WaitForOptions } from './wait-for.js';
export { TIMED_OUT, waitFor } from './wait-for.js';
export type { WaitOptions, Wake } from './waiter.js';
export { Waiter } from './waiter.js';
export { UNDELIVERED, WaiterHub } from './waiter-hub.js';
export { WakeUp } from './wake-up.js';
export type { JsonProblem } from './whole-json.js';
export { wholeJson } from './whole-json.js';
export { withoutLink } from './without-link.js';
