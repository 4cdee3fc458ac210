import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import {
  ArgumentTypeError,
  BatchReplyError,
  ClientClosedError,
  CodedError,
  describeError,
  ErrorReporter,
  isTransient,
  LeaseLostError,
  PayloadEncodedError,
  RedisAuthError,
  RedisReadOnlyError,
  RedisUnreachableError,
  RedisVersionError,
  withoutLink,
} from '../src/index.js';
import { TestServerError } from '../src/testing/index.js';
import type { RedisClient } from '../src/index.js';
import * as door from '../src/index.js';

afterEach(() => {
  jest.restoreAllMocks();
});

test('the reference lists the codes that are exported', () => {
  const page = join(import.meta.dirname, '../../../docs/redis/reference/errors.md');
  const listed = [...readFileSync(page, 'utf8').matchAll(/^\| \[?`(ERR_\w+)`\S* +\| `(\w+)` +\|/gm)].map(
    ([, code, name]) => `${code} ${name}`,
  );
  const errors = [
    new ClientClosedError(),
    new BatchReplyError(1, 0),
    new LeaseLostError('a lock'),
    new PayloadEncodedError('br'),
    new RedisUnreachableError('connecting'),
    new RedisAuthError(new Error('NOAUTH')),
    new RedisReadOnlyError(new Error('READONLY')),
    new RedisVersionError('6.2.0', new Error('ERR')),
    new TestServerError('none is on the PATH'),
  ];
  // Misuse has the name of a class of JavaScript.
  const misuse = 'ERR_INVALID_ARG ArgumentTypeError';
  expect(listed.toSorted()).toEqual(
    [...errors.map(({ code, name }) => `${code} ${name}`), misuse].toSorted(),
  );
});

test('every exported error is among them', () => {
  const classes = Object.values(door).filter(
    (value) => typeof value === 'function' && value.prototype instanceof CodedError,
  );
  const all = [
    ClientClosedError,
    BatchReplyError,
    LeaseLostError,
    PayloadEncodedError,
    RedisUnreachableError,
    RedisAuthError,
    RedisReadOnlyError,
    RedisVersionError,
  ];
  expect(new Set<unknown>(classes)).toEqual(new Set<unknown>(all));
});

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

describe('the link of a message', () => {
  const LINK = ' (see https://mortise.dev/errors/ERR_LEASE_LOST)';

  test('is in the stack, too, and a quoted message has none', () => {
    const inner = new ClientClosedError();
    const error = new LeaseLostError(`a lock: ${inner.message}`);
    expect(error.message).toMatch(/^the lease of a lock: the Redis client was closed is lost/);
    expect(error.message.endsWith(LINK)).toBe(true);
    expect(error.message.match(/mortise\.dev/g)).toHaveLength(1);
    expect(error.stack!.split('\n', 1)[0]!.endsWith(LINK)).toBe(true);
  });

  test('is taken off', () => {
    expect(withoutLink(`${new ClientClosedError().message}. More`)).toBe('the Redis client was closed. More');
  });
});

test('the codes of this package are stable', () => {
  expect(new ClientClosedError()).toMatchObject({
    code: 'ERR_CLIENT_CLOSED',
    message: 'the Redis client was closed (see https://mortise.dev/errors/ERR_CLIENT_CLOSED)',
  });
  expect(new BatchReplyError(3, 2)).toMatchObject({
    code: 'ERR_BATCH_REPLY',
    requests: 3,
    replies: 2,
    message: 'a batch of 3 requests got 2 replies (see https://mortise.dev/errors/ERR_BATCH_REPLY)',
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
    expect(error).toMatchObject({ code: 'ERR_LEASE_LOST', name: 'LeaseLostError', ...fields });
    expect(withoutLink(error.message)).toBe(message);
  });
});

describe('describeError', () => {
  test('keeps the stack, up to 2,000 characters', () => {
    expect(describeError(new TypeError('no'))).toMatch(/^TypeError: no\n {4}at /);
    expect(describeError(new Error('x'.repeat(5_000)))).toHaveLength(2_001);
  });

  test.each([
    ['text', 'plain', 'plain'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object', { a: [1] }, '{ a: [ 1 ] }'],
    ['an object without a prototype', Object.create(null), '[Object: null prototype] {}'],
    ['an error without a stack', Object.assign(new Error('bare'), { stack: undefined }), 'Error: bare'],
    ['an error with a stack of another type', Object.assign(new Error('bare'), { stack: 5 }), 'Error: bare'],
    [
      'a Proxy that throws',
      new Proxy(
        {},
        {
          getPrototypeOf: () => {
            throw new Error('never');
          },
        },
      ),
      'an error that cannot be shown (object)',
    ],
  ])('shows %s', (_, thrown, text) => {
    expect(describeError(thrown)).toBe(text);
  });
});

describe('isTransient', () => {
  const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

  test.each<[unknown]>([
    [new Error('Connection is closed.')],
    [new Error('Command timed out')],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ...'MOVED ASK TRYAGAIN CLUSTERDOWN LOADING MASTERDOWN READONLY BUSY OOM UNBLOCKED NOREPLICAS'
      .split(' ')
      .map((word): [unknown] => [reply(`${word} some text`)]),
    ['not an error'],
    [new RedisUnreachableError('reconnecting')],
    [new RedisReadOnlyError(new Error('READONLY'))],
  ])('a retry may help after %s', (error) => {
    expect(isTransient(error)).toBe(true);
  });

  test.each([
    [reply('NOPERM no permissions')],
    [reply('WRONGTYPE wrong kind of value')],
    [reply('BUSYGROUP the group exists')],
    [reply('ERR MOVED is not the first word')],
    [new ClientClosedError()],
    [new RedisAuthError(new Error('NOAUTH'))],
    [new RedisVersionError('6.2.0', new Error('ERR'))],
    [new ArgumentTypeError('limit must be a number')],
    [new RangeError('Invalid array length')],
  ])('a retry does not help after %s', (error) => {
    expect(isTransient(error)).toBe(false);
  });
});

describe('ErrorReporter', () => {
  function newReporter(status = 'ready') {
    const reported: unknown[] = [];
    const client = { status } as RedisClient;
    return { reporter: new ErrorReporter('a worker', (error) => reported.push(error), client), reported };
  }

  describe('report', () => {
    test('passes every error on', () => {
      const { reporter, reported } = newReporter('end');
      for (const error of ['lost', 'lost', Object.create(null)]) reporter.report(error);
      expect(reported).toEqual(['lost', 'lost', {}]);
    });

    test('prints errors by default', () => {
      const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
      new ErrorReporter('a worker').report('lost');
      expect(printed.mock.calls).toEqual([['a worker:', 'lost']]);
    });

    test('survives an onError that throws or rejects', async () => {
      const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
      const thrower = (): never => {
        throw new Error('thrown');
      };
      new ErrorReporter('a worker', thrower).report('a');
      new ErrorReporter('a worker', async () => thrower()).report('a');
      await new Promise(setImmediate);
      expect(printed.mock.calls).toEqual(
        Array.from({ length: 2 }, () => ['a worker: onError threw', new Error('thrown')]),
      );
    });
  });

  describe('reportRepeated', () => {
    test('passes the same failure on once a minute', () => {
      let now = 1_000;
      jest.spyOn(performance, 'now').mockImplementation(() => now);
      const { reporter, reported } = newReporter();
      const fail = (message: string): void => reporter.reportRepeated(new Error(message));
      fail('away');
      fail('away');
      fail('read-only');
      now += 59_000;
      fail('away');
      expect(reported.map(String)).toEqual(['Error: away', 'Error: read-only']);
      now += 1_000;
      fail('away');
      expect(reported).toHaveLength(3);
    });

    test('takes failures with the same text for the same, whatever their errors say', () => {
      const { reporter, reported } = newReporter('end');
      reporter.reportRepeated('row 1: away', 'away');
      reporter.reportRepeated('row 2: away', 'away');
      reporter.reportRepeated('row 2: away', 'another');
      expect(reported).toEqual(['row 1: away', 'row 2: away']);
    });

    test('remembers a bounded number of failures', () => {
      const { reporter, reported } = newReporter();
      for (let n = 0; n < 1_000; n += 1) reporter.reportRepeated(`failure ${n}`);
      reporter.reportRepeated('failure 0');
      expect(reported).toHaveLength(1_001);
    });

    test('every failure of a closed client is one', () => {
      const { reporter, reported } = newReporter('end');
      reporter.reportRepeated('a');
      reporter.reportRepeated('b');
      expect(reported).toEqual([expect.any(ClientClosedError)]);
    });
  });

  test('onError must be a function', () => {
    expect(() => new ErrorReporter('a worker', 'log' as never)).toThrow(
      new TypeError('onError must be a function, got string'),
    );
  });
});
