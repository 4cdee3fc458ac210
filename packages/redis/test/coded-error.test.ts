import { describe, expect, test } from '@jest/globals';
import { BatchReplyError, ClientClosedError, CodedError, LeaseLostError } from '../src/index.js';

describe('CodedError', () => {
  class LockBusyError extends CodedError {
    readonly code = 'ERR_LOCK_BUSY';

    constructor(readonly lock: string) {
      super(`lock ${JSON.stringify(lock)} is busy`);
    }
  }

  test('has a code, typed fields, its class as name, and a stack that shows all that', () => {
    const error = new LockBusyError('invoice:42');
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(CodedError);
    expect(Object.entries(error)).toEqual([
      ['lock', 'invoice:42'],
      ['code', 'ERR_LOCK_BUSY'],
    ]);
    expect(String(error)).toBe('LockBusyError: lock "invoice:42" is busy');
    expect(error.stack).toMatch(/^LockBusyError: lock "invoice:42" is busy\n {4}at /);
  });

  test('carries a cause', () => {
    class RefusedError extends CodedError {
      readonly code = 'ERR_REFUSED';
    }
    const cause = new Error('NOPERM');
    expect(new RefusedError('refused', { cause }).cause).toBe(cause);
  });
});

test('the codes of this package are stable', () => {
  expect(new ClientClosedError()).toMatchObject({
    code: 'ERR_CLIENT_CLOSED',
    message: 'the Redis client was closed',
  });
  expect(new BatchReplyError(3, 2)).toMatchObject({
    code: 'ERR_BATCH_REPLY',
    requests: 3,
    replies: 2,
    message: 'a batch of 3 requests got 2 replies',
  });
});

describe('LeaseLostError', () => {
  const cause = new Error('READONLY');

  test.each([
    [
      new LeaseLostError('lock "invoice:42"', 'expired', { fencingToken: 17, cause }),
      'lease 17 of lock "invoice:42" expired before a renewal succeeded',
      { held: 'lock "invoice:42"', reason: 'expired', fencingToken: 17, cause },
    ],
    [
      new LeaseLostError('lock "a"', 'taken'),
      'the lease of lock "a" was taken over: Redis no longer knows this holder',
      { reason: 'taken' },
    ],
    [new LeaseLostError('lock "a"', 'released'), 'the lease of lock "a" has been released', {}],
    [
      new LeaseLostError('task "7f" of queue "mail"'),
      'the lease of task "7f" of queue "mail" is lost: it expired, or another holder took it over',
      { held: 'task "7f" of queue "mail"', reason: 'lost' },
    ],
  ])('names the held object and the reason of the end (%#)', (error, message, fields) => {
    expect(error).toMatchObject({ code: 'ERR_LEASE_LOST', name: 'LeaseLostError', message, ...fields });
  });
});
