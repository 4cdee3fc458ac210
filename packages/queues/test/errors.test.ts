import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import * as queues from '@mortise/queues';
import { CodedError } from '@mortise/redis';
import { errorCodes } from '@mortise/test-kit';
import * as all from '../src/errors.js';

const PAGE = '../../docs/queues/reference/errors.md';

test('the reference lists the codes of this package, and those that it passes on', () => {
  const root = join(import.meta.dirname, '..');
  const { declared, listed } = errorCodes(root, { document: PAGE });
  const others = ['src/worker-errors.ts', 'src/admin/errors.ts', 'src/bullmq/errors.ts'].flatMap(
    (source) => errorCodes(root, { source, document: PAGE }).declared,
  );
  expect(listed).toEqual(
    [
      ...new Set([...declared, ...others]),
      'ERR_CLIENT_CLOSED',
      'ERR_INVALID_ARG',
      'ERR_LEASE_LOST',
      'ERR_REDIS_AUTH',
      'ERR_REDIS_READONLY',
      'ERR_REDIS_UNREACHABLE',
      'ERR_REDIS_VERSION',
    ].toSorted(),
  );
});

/** Codes of a class beside the one after which it is named. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  InvalidPayloadError: ['ERR_PAYLOAD_TOO_LARGE'],
  InvalidScheduleError: ['ERR_TOO_MANY_SCHEDULES'],
  SettingsMismatchError: ['ERR_PRIORITIES_MISMATCH', 'ERR_SHARDS_MISMATCH'],
  AttemptError: ['ERR_TASK_TIMEOUT', 'ERR_TASK_EXPIRED', 'ERR_WORKER_STOPPED', 'ERR_ATTEMPT_ENDED'],
  WorkerError: [
    'ERR_UNKNOWN_TASK',
    'ERR_HANDLER_MISSING',
    'ERR_TASK_UNREADABLE',
    'ERR_LISTENER_FAILED',
    'ERR_RESULT_NOT_KEPT',
    'ERR_BACKOFF_FUNCTION',
  ],
  Discard: ['ERR_DISCARDED'],
  DeliveryError: ['ERR_TOO_MANY_EVENTS', 'ERR_EVENTS_TOO_LARGE'],
  StepError: ['ERR_TOO_MANY_STEPS', 'ERR_STEPS_TOO_LARGE'],
};

test('each class is named after its code, or is in the table of families', () => {
  const page = readFileSync(join(import.meta.dirname, '..', PAGE), 'utf8');
  const families: Record<string, string[]> = {};
  for (const [, code = '', name = ''] of page.matchAll(/^\| \[?`(ERR_\w+)`\S* *\| `(\w+)`/gm)) {
    if (name in all && name !== nameOf(code)) (families[name] ??= []).push(code);
  }
  expect(families).toEqual(FAMILIES);
});

function nameOf(code: string): string {
  const words = code.toLowerCase().split('_').slice(1);
  const name = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  return name in all ? name : `${name}Error`;
}

test('every class of error is exported', () => {
  const { taskLeaseLost: _, ...classes } = all;
  expect(queues).toMatchObject(classes);
});

test('errors have a code, fields and a message with the names', () => {
  expect(new queues.WorkerError('ERR_UNKNOWN_TASK', 'q', 'a\n', '"t"')).toMatchObject({
    name: 'WorkerError',
    code: 'ERR_UNKNOWN_TASK',
    message: expect.stringContaining(
      'no handler for "\\"t\\"", task "a\\n" of queue "q": no worker had one within unknownAfterMs',
    ),
  });
  const tooLarge = new RangeError('too large\n');
  expect(new queues.WorkerError('ERR_RESULT_NOT_KEPT', 'q', 'a', 't', tooLarge)).toMatchObject({
    taskName: 't',
    message: expect.stringContaining(
      'the result of "t", task "a" of queue "q" is not kept: RangeError: too large',
    ),
  });
  expect(new queues.SettingsMismatchError('q', 'priorities', ['a'], ['b', 'c'])).toMatchObject({
    code: 'ERR_PRIORITIES_MISMATCH',
    message: expect.stringContaining('queue "q" has the priorities b, c, not a'),
  });
  expect(new queues.SettingsMismatchError('q', 'shards', 4, 1)).toMatchObject({
    code: 'ERR_SHARDS_MISMATCH',
    message: expect.stringContaining('queue "q" has 1 shards, not 4'),
  });
  const lost = all.taskLeaseLost('q', 'a');
  expect(lost).toBeInstanceOf(queues.LeaseLostError);
  expect(lost).toMatchObject({ queue: 'q', taskId: 'a' });
  expect(lost.message).toMatch(/^the lease of task "a" of queue "q" is lost/);
  expect(new queues.Discard('no use')).toMatchObject({
    name: 'Discard',
    code: 'ERR_DISCARDED',
    message: 'no use',
  });
  const later = new queues.RetryLater({ delayMs: 5, reason: 'not yet' });
  expect(later).toBeInstanceOf(CodedError);
  expect(later).toMatchObject({
    name: 'RetryLater',
    code: 'ERR_RETRY_LATER',
    delayMs: 5,
    message: 'not yet',
  });
});

test.each([-1, Number.NaN, Infinity, '5', undefined])('RetryLater refuses a delay of %p', (delayMs) => {
  expect(() => new queues.RetryLater({ delayMs: delayMs as number })).toThrow(/^delayMs must be/);
});
