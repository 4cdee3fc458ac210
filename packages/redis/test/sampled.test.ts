/** A value that many watch: one reader for all of them, and none without them. */
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';

import { Sampled } from '../src/sampled.js';

const EVERY_MS = 1_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

interface Reader {
  reads: number;
  /** The next read resolves to it; an error rejects it. */
  value: number | Error | Promise<number>;
  readonly sampled: Sampled<number>;
}

function reader(value: number): Reader {
  const its: Reader = {
    reads: 0,
    value,
    sampled: new Sampled<number>(
      async () => {
        its.reads += 1;
        if (its.value instanceof Error) throw its.value;
        return its.value;
      },
      EVERY_MS,
      (a, b) => a === b,
    ),
  };
  return its;
}

interface Follower {
  readonly values: number[];
  isOver: boolean;
  stop(): void;
}

function follow({ sampled }: Reader): Follower {
  const controller = new AbortController();
  const its: Follower = { values: [], isOver: false, stop: () => controller.abort() };
  void (async () => {
    for await (const value of sampled.follow(controller.signal)) its.values.push(value);
    its.isOver = true;
  })();
  return its;
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('a sampled value', () => {
  test('is read at once and then in steps, and each change comes', async () => {
    const its = reader(1);
    const follower = follow(its);
    await pass(0);
    expect(follower.values).toEqual([1]);
    for (const value of [1, 2, 2, 3]) {
      its.value = value;
      await pass(EVERY_MS);
    }
    expect([follower.values, its.reads]).toEqual([[1, 2, 3], 5]);
    follower.stop();
    await pass(0);
    expect(follower.isOver).toBe(true);
  });

  test('is not read while nobody follows, neither before nor after', async () => {
    const its = reader(1);
    await pass(10 * EVERY_MS);
    expect([its.reads, its.sampled.isFollowed]).toEqual([0, false]);
    const follower = follow(its);
    await pass(0);
    expect([its.reads, its.sampled.isFollowed]).toEqual([1, true]);
    follower.stop();
    await pass(10 * EVERY_MS);
    expect([its.reads, its.sampled.isFollowed, jest.getTimerCount()]).toEqual([1, false, 0]);
  });

  test('is read once for all, and a later follower has the last value at once', async () => {
    const its = reader(1);
    const first = follow(its);
    await pass(EVERY_MS / 2);
    const others = [follow(its), follow(its)];
    await pass(0);
    expect([its.reads, ...others.map(({ values }) => values)]).toEqual([1, [1], [1]]);
    its.value = 2;
    await pass(EVERY_MS * 4);
    expect(its.reads).toBe(5);
    for (const { values } of [first, ...others]) expect(values).toEqual([1, 2]);
    first.stop();
    await pass(EVERY_MS * 4);
    expect(its.reads).toBe(9);
    for (const other of others) other.stop();
    await pass(EVERY_MS * 4);
    expect(its.reads).toBe(9);
  });

  test('has one reader after its followers changed during a read', async () => {
    const its = reader(1);
    let end: (value: number) => void = () => undefined;
    its.value = new Promise((resolve) => {
      end = resolve;
    });
    const first = follow(its);
    await pass(0);
    first.stop();
    const second = follow(its);
    await pass(EVERY_MS * 3);
    expect(its.reads).toBe(1);
    its.value = 2;
    end(1);
    await pass(0);
    expect([first.values, second.values]).toEqual([[], [1]]);
    await pass(EVERY_MS * 3);
    expect([its.reads, second.values]).toEqual([4, [1, 2]]);
    second.stop();
    await pass(EVERY_MS * 3);
    expect(its.reads).toBe(4);
  });

  test('of now is what a new follower gets, not that of earlier ones', async () => {
    const its = reader(1);
    const first = follow(its);
    await pass(0);
    first.stop();
    its.value = 2;
    const second = follow(its);
    await pass(0);
    expect(second.values).toEqual([2]);
    second.stop();
  });

  test('that cannot be read is read again', async () => {
    const its = reader(1);
    its.value = new Error('no Redis');
    const follower = follow(its);
    await pass(EVERY_MS * 2);
    its.value = 1;
    await pass(EVERY_MS);
    expect([follower.values, its.reads]).toEqual([[1], 4]);
    follower.stop();
  });

  test('skips what a slow follower had no time for', async () => {
    const its = reader(1);
    const controller = new AbortController();
    const values = its.sampled.follow(controller.signal)[Symbol.asyncIterator]();
    await pass(0);
    expect((await values.next()).value).toBe(1);
    for (const value of [2, 3, 4]) {
      its.value = value;
      await pass(EVERY_MS);
    }
    expect((await values.next()).value).toBe(4);
    controller.abort();
    expect((await values.next()).done).toBe(true);
  });

  test('is not followed by an aborted signal', async () => {
    const its = reader(1);
    const values: number[] = [];
    for await (const value of its.sampled.follow(AbortSignal.abort())) values.push(value);
    await pass(EVERY_MS);
    expect([values, its.reads]).toEqual([[], 0]);
  });
});
