import { describe, expect, test } from '@jest/globals';
import { PrioritiesMismatchError } from '@mortise/queues';
import { QueueKeys } from '../src/keys.js';
import { Lanes } from '../src/lanes.js';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

function lanesOf(names?: readonly string[]): { lanes: Lanes; keys: QueueKeys } {
  const keys = new QueueKeys('q', freshPrefix());
  return { lanes: new Lanes('q', keys, names), keys };
}

/** Refuses, as scripts do, unless the names are those that are stored. */
function callOf(lanes: Lanes, stored: string, calls: string[]): () => Promise<string> {
  return async () => {
    calls.push(lanes.argument);
    if (lanes.argument !== stored) throw new Error(`PRIORITIES ${stored}`);
    return 'done';
  };
}

describe('Lanes', () => {
  test('a priority is a lane, the first one first; the default is the middle one', () => {
    const { lanes } = lanesOf(['a', 'b', 'c', 'd']);
    expect(['a', 'd', undefined].map((name) => lanes.laneOf(name))).toEqual([0, 3, 2]);
    expect(lanesOf(['only']).lanes.laneOf(undefined)).toBe(0);
    expect(lanesOf().lanes.laneOf(undefined)).toBe(1);
    for (const name of ['e', '', 'A', 0, null, 1n, {}]) {
      expect(() => lanes.laneOf(name as string)).toThrow(RangeError);
    }
    expect(() => lanes.laneOf('e')).toThrow('priority must be one of a, b, c, d, got "e"');
  });

  test('three keys for each lane', () => {
    const { lanes, keys } = lanesOf(['a', 'b']);
    expect(lanes.keys).toEqual(keys.lanes(2));
    expect(new Set(lanes.keys).size).toBe(6);
  });

  test('names that were not given are taken from the queue, once', async () => {
    const { lanes } = lanesOf();
    const calls: string[] = [];
    expect(await lanes.run(callOf(lanes, 'x,y', calls))).toBe('done');
    expect(await lanes.run(callOf(lanes, 'x,y', calls))).toBe('done');
    expect(calls).toEqual(['high,medium,low', 'x,y', 'x,y']);
    expect(lanes.keys).toHaveLength(6);
  });

  test('a queue that has come anew with other priorities is followed', async () => {
    const { lanes } = lanesOf();
    expect(await lanes.run(callOf(lanes, 'x,y', []))).toBe('done');
    expect(await lanes.run(callOf(lanes, 'z', []))).toBe('done');
    expect(lanes.names).toEqual(['z']);
  });

  test('names that were given must be those of the queue', async () => {
    const { lanes } = lanesOf(['a', 'b']);
    const refusal = await lanes.run(callOf(lanes, 'b,a', [])).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(PrioritiesMismatchError);
    expect(refusal).toMatchObject({ queue: 'q', wanted: ['a', 'b'], stored: ['b', 'a'] });
    expect(lanes.names).toEqual(['a', 'b']);
  });

  test('another error passes through', async () => {
    const { lanes } = lanesOf();
    await expect(lanes.run(() => Promise.reject(new Error('OOM')))).rejects.toThrow('OOM');
  });

  test('learn looks once for all who ask, and again when it failed', async () => {
    const { lanes, keys } = lanesOf();
    const asked: string[] = [];
    const client = new Proxy(redis, {
      get: (target, property) =>
        property === 'call'
          ? async (command: string, args: string[]) => {
              asked.push(command);
              if (asked.length === 1) throw new Error('away');
              return target.call(command, args);
            }
          : Reflect.get(target, property),
    });
    await redis.set(keys.priorities, 'x');
    await expect(Promise.all([lanes.learn(client), lanes.learn(client)])).rejects.toThrow('away');
    expect(lanes.isKnown).toBe(false);
    await Promise.all([lanes.learn(client), lanes.learn(client)]);
    expect(asked).toEqual(['get', 'get']);
    expect([lanes.isKnown, lanes.names]).toEqual([true, ['x']]);
    expect(lanesOf(['a']).lanes.isKnown).toBe(true);
  });
});
