import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { ClientClosedError, ErrorReporter } from '../src/index.js';
import type { RedisClient } from '../src/index.js';

afterEach(() => {
  jest.restoreAllMocks();
});

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
