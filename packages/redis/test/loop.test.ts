import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { gate } from '@mortise/test-kit';
import type { LoopOptions } from '../src/index.js';
import { LOOP_DEFAULTS, Loop } from '../src/index.js';

/** Lets everything run that needs no timer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Timers are fake in every test; promises and setImmediate are not. */
jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });

const made: Loop[] = [];

/** A loop with that step, stopped after the test, and how often it has stepped. */
function looping(
  step: (signal: AbortSignal) => Promise<number>,
  options: ConstructorParameters<typeof Loop>[2] = {},
) {
  const counted = jest.fn(step);
  const loop = new Loop('a loop', counted, options);
  made.push(loop);
  return { loop, step: counted };
}

/** The same after its start and its first step. */
async function started(...given: Parameters<typeof looping>): Promise<ReturnType<typeof looping>> {
  const { loop, step } = looping(...given);
  loop.start();
  await settled();
  return { loop, step };
}

afterEach(async () => {
  for (const loop of made.splice(0)) await loop.stop();
  expect(jest.getTimerCount()).toBe(0);
  jest.restoreAllMocks();
});

describe('start', () => {
  test('steps at once, then after each pause that the step returns', async () => {
    const { step } = await started(async () => 1_000);
    expect(step).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(999);
    expect(step).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(step).toHaveBeenCalledTimes(2);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(step).toHaveBeenCalledTimes(7);
  });

  test('a second call changes nothing', async () => {
    const { loop, step } = looping(async () => Infinity);
    loop.start();
    loop.start();
    await settled();
    loop.start();
    await settled();
    expect(step).toHaveBeenCalledTimes(1);
    expect(loop.isRunning).toBe(true);
  });

  test('never runs two steps at once, also when started while the last step before a stop is ending', async () => {
    const ends: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const { loop, step } = await started(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      return 0;
    });
    const stopped = loop.stop();
    loop.start();
    loop.wake();
    await settled();
    expect(loop.isRunning).toBe(true);
    expect(step).toHaveBeenCalledTimes(1);
    ends[0]!();
    await stopped;
    await settled();
    expect(step).toHaveBeenCalledTimes(2);
    expect(step.mock.calls.map(([signal]) => signal.aborted)).toEqual([true, false]);
    expect(most).toBe(1);
    const stoppedAgain = loop.stop();
    ends[1]!();
    await stoppedAgain;
    expect(step).toHaveBeenCalledTimes(2);
  });

  test('runs again after a stop', async () => {
    const { loop, step } = looping(async () => Infinity);
    for (const times of [1, 2, 3]) {
      loop.start();
      await settled();
      await loop.stop();
      expect(step).toHaveBeenCalledTimes(times);
    }
  });
});

describe('stop', () => {
  test('is legal before start and twice, also at the same time', async () => {
    const { loop, step } = looping(async () => Infinity);
    await expect(loop.stop()).resolves.toBeUndefined();
    loop.start();
    await settled();
    await expect(Promise.all([loop.stop(), loop.stop()])).resolves.toEqual([undefined, undefined]);
    await expect(loop.stop()).resolves.toBeUndefined();
    expect(loop.isRunning).toBe(false);
    expect(step).toHaveBeenCalledTimes(1);
  });

  test('right after start skips even the first step', async () => {
    const { loop, step } = looping(async () => Infinity);
    loop.start();
    await loop.stop();
    expect(step).not.toHaveBeenCalled();
  });

  test('aborts the signal of the running step and waits until it has ended', async () => {
    const order: string[] = [];
    const end = gate();
    const { loop } = await started(async (signal) => {
      signal.addEventListener('abort', () => order.push(`aborted: ${(signal.reason as Error).message}`));
      await end.passed;
      order.push('step ended');
      return 0;
    });
    const stopped = loop.stop().then(() => order.push('stopped'));
    await settled();
    expect(order).toEqual(['aborted: a loop is stopping']);
    end.open();
    await stopped;
    expect(order).toEqual(['aborted: a loop is stopping', 'step ended', 'stopped']);
  });

  test.each([
    ['a pause', async () => 60_000],
    ['a pause without end', async () => Infinity],
    ['a pause after an error', () => Promise.reject(new Error('down'))],
  ])('ends %s at once', async (_, pausing) => {
    const { loop, step } = await started(pausing, { onError: () => undefined });
    expect(jest.getTimerCount()).toBe(1);
    await loop.stop();
    expect(jest.getTimerCount()).toBe(0);
    expect(step).toHaveBeenCalledTimes(1);
  });

  test('a step that ends with the reason of its signal has not failed', async () => {
    const onError = jest.fn();
    const { loop } = await started(
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
      { onError },
    );
    await loop.stop();
    expect(onError).not.toHaveBeenCalled();
  });

  test('an error of the last step is reported, too', async () => {
    const onError = jest.fn();
    const end = gate<number>();
    const { loop } = await started(() => end.passed, { onError });
    const stopped = loop.stop();
    end.fail(new Error('not saved'));
    await stopped;
    expect(onError.mock.calls).toEqual([[new Error('not saved')]]);
  });
});

test('a loop stops at the end of an await using block', async () => {
  const { loop, step } = looping(async () => 60_000);
  {
    await using inBlock = loop;
    inBlock.start();
    await settled();
  }
  expect(loop.isRunning).toBe(false);
  expect(step).toHaveBeenCalledTimes(1);
});

describe('wake', () => {
  test.each([[60_000], [Infinity]])('ends a pause of %d ms', async (pauseMs) => {
    const { loop, step } = await started(async () => pauseMs);
    loop.wake();
    await settled();
    expect(step).toHaveBeenCalledTimes(2);
    expect(jest.getTimerCount()).toBe(1);
  });

  test('during a step skips the next pause, once, however often it is called', async () => {
    const ends: (() => void)[] = [];
    const { loop, step } = await started(async () => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return Infinity;
    });
    loop.wake();
    loop.wake();
    ends[0]!();
    await settled();
    expect(step).toHaveBeenCalledTimes(2);
    ends[1]!();
    await settled();
    expect(step).toHaveBeenCalledTimes(2);
    expect(jest.getTimerCount()).toBe(1);
  });

  test('before start and after stop does nothing', async () => {
    const { loop, step } = looping(async () => Infinity);
    loop.wake();
    await settled();
    expect(step).not.toHaveBeenCalled();
    loop.start();
    await settled();
    await loop.stop();
    loop.wake();
    await settled();
    expect(step).toHaveBeenCalledTimes(1);
  });

  test('does not shorten the pause after an error: a failing loop never spins', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const { loop, step } = looping(
      async () => {
        loop.wake();
        throw new Error('down');
      },
      { onError: () => undefined, backoff: { delayMs: 100 } },
    );
    loop.start();
    await settled();
    for (let time = 0; time < 10; time += 1) {
      loop.wake();
      await settled();
    }
    expect(step).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(100);
    expect(step).toHaveBeenCalledTimes(2);
  });
});

describe('pauses', () => {
  test('a pause longer than a timer of Node holds', async () => {
    const { step } = await started(async () => 2 ** 32);
    await jest.advanceTimersByTimeAsync(2 ** 32 - 1);
    expect(step).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(step).toHaveBeenCalledTimes(2);
  });

  test.each([[0], [-5], [-Infinity]])('a pause of %d ms is none', async (pauseMs) => {
    let left = 3;
    const { step } = await started(async () => {
      left -= 1;
      return left > 0 ? pauseMs : Infinity;
    });
    expect(step).toHaveBeenCalledTimes(3);
  });

  test.each([[Number.NaN], [undefined]])(
    'a step that returns %p has failed: a forgotten pause is no spinning loop',
    async (pauseMs) => {
      const onError = jest.fn();
      const { step } = await started(async () => pauseMs as number, { onError });
      expect(step).toHaveBeenCalledTimes(1);
      expect(onError.mock.calls).toEqual([
        [new TypeError(`a step must return its pause in ms, got ${pauseMs}`)],
      ]);
    },
  );
});

describe('errors', () => {
  test('each is reported; the pause doubles up to maxDelayMs, and a good step resets it', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const onError = jest.fn();
    const pauses: number[] = [];
    let last = performance.now();
    let left = 7;
    await started(
      async () => {
        pauses.push(Math.round(performance.now() - last));
        last = performance.now();
        left -= 1;
        if (left === 1) return 5;
        throw new Error(`failure ${left}`);
      },
      { onError, backoff: { delayMs: 100, maxDelayMs: 500 } },
    );
    await jest.advanceTimersByTimeAsync(1_705);
    expect(pauses).toEqual([0, 100, 200, 400, 500, 500, 5]);
    expect(onError).toHaveBeenCalledTimes(6);
    expect(onError.mock.calls[0]).toEqual([new Error('failure 6')]);
    await jest.advanceTimersByTimeAsync(100);
    expect(pauses.at(-1)).toBe(100);
  });

  test('the pause has full jitter, but is never none', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1 - Number.EPSILON);
    const { step } = await started(() => Promise.reject(new Error('down')), { onError: () => undefined });
    expect(step).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(step).toHaveBeenCalledTimes(2);
  });

  test('a step that throws synchronously has failed like any other', async () => {
    const onError = jest.fn();
    await started(
      () => {
        throw new Error('at once');
      },
      { onError },
    );
    expect(onError.mock.calls).toEqual([[new Error('at once')]]);
  });

  test('without onError there is one line on stderr', async () => {
    const stderr = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await started(() => Promise.reject(new Error('down')));
    expect(stderr.mock.calls).toEqual([['a loop:', new Error('down')]]);
  });

  test('an onError that throws is reported on stderr, and the loop goes on', async () => {
    const stderr = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const { step } = await started(() => Promise.reject(new Error('down')), {
      onError: () => {
        throw new Error('no logger');
      },
    });
    await jest.advanceTimersByTimeAsync(LOOP_DEFAULTS.backoff.delayMs);
    expect(step.mock.calls.length).toBeGreaterThan(1);
    expect(stderr.mock.calls[0]).toEqual(['a loop: onError threw', new Error('no logger')]);
  });

  test.each([
    [
      { backoff: { delayMs: Number.NaN } },
      RangeError,
      'backoff.delayMs must be from 0 to 315576000000 ms, got NaN',
    ],
    [{ minBackoffMs: 50 }, TypeError, 'Loop has no option "minBackoffMs"; there are onError, backoff'],
    [{ onError: 'log' }, TypeError, 'onError must be a function, got string'],
  ])('refuses %j', (options, Misuse, message) => {
    expect(() => new Loop('a loop', async () => 0, options as LoopOptions)).toThrow(new Misuse(message));
  });
});
