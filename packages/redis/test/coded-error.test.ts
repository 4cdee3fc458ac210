import { describe, expect, test } from '@jest/globals';
import { BatchReplyError, ClientClosedError, CodedError } from '../src/index.js';

describe('CodedError', () => {
  class LeaseLostError extends CodedError {
    readonly code = 'ERR_LEASE_LOST';

    constructor(readonly lock: string) {
      super(`the lease of lock ${JSON.stringify(lock)} is lost`);
    }
  }

  test('has a code, typed fields, its class as name, and a stack that shows all that', () => {
    const error = new LeaseLostError('invoice:42');
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(CodedError);
    expect(Object.entries(error)).toEqual([
      ['lock', 'invoice:42'],
      ['code', 'ERR_LEASE_LOST'],
    ]);
    expect(String(error)).toBe('LeaseLostError: the lease of lock "invoice:42" is lost');
    expect(error.stack).toMatch(/^LeaseLostError: the lease of lock "invoice:42" is lost\n {4}at /);
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
