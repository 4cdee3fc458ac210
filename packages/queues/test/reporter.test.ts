import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { ClientClosedError } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Reporter } from '../src/work/reporter.js';

afterEach(() => {
  jest.restoreAllMocks();
});

function newReporter(): { reporter: Reporter; heard: unknown[]; client: { status: string } } {
  const heard: unknown[] = [];
  const client = { status: 'ready' };
  return { reporter: new Reporter(client as RedisClient, (error) => heard.push(error)), heard, client };
}

describe('Reporter', () => {
  test('tells everything that happened once', () => {
    const { reporter, heard } = newReporter();
    for (const error of ['lost', 'lost', Object.create(null)]) reporter.tell(error);
    expect(heard).toHaveLength(3);
  });

  test('tells of the same failure once a minute', () => {
    let now = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const { reporter, heard } = newReporter();
    const fail = (message: string): void => reporter.tellFailure(new Error(message));
    fail('away');
    fail('away');
    fail('read-only');
    now += 59_000;
    fail('away');
    expect(heard.map(String)).toEqual(['Error: away', 'Error: read-only']);
    now += 1_000;
    fail('away');
    expect(heard).toHaveLength(3);
  });

  test('remembers no more than some failures', () => {
    const { reporter, heard } = newReporter();
    for (let n = 0; n < 1_000; n += 1) reporter.tellFailure(`failure ${n}`);
    reporter.tellFailure('failure 0');
    expect(heard).toHaveLength(1_001);
  });

  test('whatever fails with a closed client is one failure', () => {
    const { reporter, heard, client } = newReporter();
    client.status = 'end';
    reporter.tellFailure('a');
    reporter.tellFailure('b');
    reporter.tell('lease');
    expect(heard).toEqual([expect.any(ClientClosedError), 'lease']);
  });

  test('survives an onError that throws or rejects', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const client = { status: 'ready' } as RedisClient;
    const thrower = (): never => {
      throw new Error('thrown');
    };
    new Reporter(client, thrower).tell('a');
    new Reporter(client, async () => thrower()).tell('a');
    await new Promise(setImmediate);
    expect(printed).toHaveBeenCalledTimes(2);
    expect(printed).toHaveBeenCalledWith('mortise worker: onError threw', new Error('thrown'));
  });
});
