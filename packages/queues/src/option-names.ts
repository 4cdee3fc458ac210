/** The options that exist. Any other one is refused. */

export const QUEUE_OPTIONS = new Set([
  'prefix',
  'priorities',
  'maxPayloadBytes',
  'keepCancelled',
  'shards',
  'schemas',
  'codecs',
  'telemetry',
]);

export const ENQUEUE_OPTIONS = new Set([
  'priority',
  'delayMs',
  'runAt',
  'id',
  'attempts',
  'backoff',
  'timeoutMs',
  'expiresInMs',
  'headers',
  'group',
  'dedupMs',
]);

export const WORKER_OPTIONS = new Set([
  'prefix',
  'concurrency',
  'prefetch',
  'leaseMs',
  'unknownAfterMs',
  'backoff',
  'fairness',
  'keepSucceeded',
  'keepSucceededMs',
  'keepDead',
  'maxPayloadBytes',
  'onError',
  'onSucceeded',
  'onFailed',
  'schemas',
  'codecs',
  'telemetry',
]);
