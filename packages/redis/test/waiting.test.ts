/** The parts of waits: timers, flags and signals. */
import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import {
  afterMicrotasks,
  callAfter,
  ClientClosedError,
  disposable,
  onAbort,
  TIMED_OUT,
  Waiter,
  waitFor,
  WakeUp,
} from '../src/index.js';

/** performance.now() moves with the timers. */
jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });

afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
});

/** Lets everything run that needs no timer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('callAfter', () => {
  test.each([[1], [2 ** 31 - 1], [2 ** 31], [2 ** 33 + 5]])(
    'calls back after %d ms, not before',
    async (ms) => {
      const callback = jest.fn();
      callAfter(ms, callback);
      await jest.advanceTimersByTimeAsync(ms - 1);
      expect(callback).not.toHaveBeenCalled();
      await jest.advanceTimersByTimeAsync(1);
      expect(callback).toHaveBeenCalledTimes(1);
    },
  );

  test('a part of a millisecond counts as a whole one', async () => {
    const callback = jest.fn();
    callAfter(10.25, callback);
    await jest.advanceTimersByTimeAsync(10);
    expect(callback).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(callback).toHaveBeenCalledTimes(1);
  });

  test('a cancelled call is not made, also after its first timer', async () => {
    const callback = jest.fn();
    const cancels = [callAfter(5, callback), callAfter(2 ** 32, callback)];
    await jest.advanceTimersByTimeAsync(2);
    cancels[0]!();
    await jest.advanceTimersByTimeAsync(2 ** 31);
    cancels[1]!();
    await jest.advanceTimersByTimeAsync(2 ** 32);
    expect(callback).not.toHaveBeenCalled();
  });

  test('Infinity needs no timer', () => {
    const cancel = callAfter(Infinity, () => undefined);
    expect(jest.getTimerCount()).toBe(0);
    cancel();
  });
});

describe('waitFor', () => {
  const never = new Promise<never>(() => undefined);
  const reason = new Error('enough');

  /** How a wait has ended so far. */
  function ending(wait: Promise<unknown>): { how: unknown } {
    const seen: { how: unknown } = { how: 'waiting' };
    wait.then(
      (result) => (seen.how = result),
      (error: unknown) => (seen.how = error),
    );
    return seen;
  }

  test('without a limit and a signal it is the work itself', () => {
    expect(waitFor(never, {})).toBe(never);
  });

  describe('the work', () => {
    test.each([
      ['resolves', Promise.resolve(5), 5],
      ['rejects', Promise.reject(reason), reason],
    ])('%s first', async (_, work, how) => {
      const { signal } = new AbortController();
      const seen = ending(waitFor(work, { waitMs: 1_000, signal }));
      await settled();
      expect(seen.how).toBe(how);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    });

    test('may end late: nothing is made of it', async () => {
      let fail!: (error: Error) => void;
      const work = new Promise((_, reject) => (fail = reject));
      const seen = ending(waitFor(work, { waitMs: 10 }));
      await jest.advanceTimersByTimeAsync(10);
      await settled();
      fail(reason);
      await settled();
      expect(seen.how).toBe(TIMED_OUT);
    });
  });

  describe('the limit', () => {
    test.each([[1_000], [2 ** 31 + 1_000]])('ends the wait after %d ms, not before', async (waitMs) => {
      const seen = ending(waitFor(never, { waitMs }));
      await jest.advanceTimersByTimeAsync(waitMs - 1);
      await settled();
      expect(seen.how).toBe('waiting');
      await jest.advanceTimersByTimeAsync(1);
      await settled();
      expect(seen.how).toBe(TIMED_OUT);
    });

    test.each([[0], [-5]])('of %d ms still takes a result that has arrived', async (waitMs) => {
      const [there, away] = [
        ending(waitFor(Promise.resolve(5), { waitMs })),
        ending(waitFor(never, { waitMs })),
      ];
      await settled();
      await settled();
      expect([there.how, away.how]).toEqual([5, TIMED_OUT]);
    });

    test('lets a reply in that arrived before it and is read after it', async () => {
      let reply!: (result: string) => void;
      const seen = ending(waitFor(new Promise((resolve) => (reply = resolve)), { waitMs: 10 }));
      // The timer is due, and the sockets are read before `setImmediate`.
      jest.advanceTimersByTime(10);
      reply('in time');
      await settled();
      expect(seen.how).toBe('in time');
    });
  });

  describe('the signal', () => {
    test('ends the wait with its reason', async () => {
      const controller = new AbortController();
      const seen = ending(waitFor(never, { waitMs: 1_000, signal: controller.signal }));
      controller.abort(reason);
      await settled();
      expect(seen.how).toBe(reason);
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    });

    test('that is aborted already ends it at once, and the work may still fail', async () => {
      const seen = ending(waitFor(Promise.reject(new Error('late')), { signal: AbortSignal.abort(reason) }));
      await settled();
      expect(seen.how).toBe(reason);
    });
  });
});

describe('WakeUp', () => {
  const lost = new Error('lost');

  describe('wake', () => {
    test.each([[60_000], [Infinity]])('ends a wait of %d ms', async (ms) => {
      const wakeUp = new WakeUp();
      const wait = wakeUp.wait(ms);
      wakeUp.wake();
      expect(await wait).toBe(true);
    });

    test('before a wait ends it at once, several count once', async () => {
      const wakeUp = new WakeUp();
      wakeUp.wake();
      wakeUp.wake();
      expect(await wakeUp.wait()).toBe(true);
      expect(await wakeUp.wait(0)).toBe(false);
    });

    test('that ended a wait does not end the next one', async () => {
      const wakeUp = new WakeUp();
      const wait = wakeUp.wait();
      wakeUp.wake();
      await wait;
      expect(await wakeUp.wait(0)).toBe(false);
    });

    test('is forgotten after reset', async () => {
      const wakeUp = new WakeUp();
      wakeUp.wake();
      wakeUp.reset();
      expect(await wakeUp.wait(0)).toBe(false);
    });
  });

  describe('wait', () => {
    test.each([[1_000], [2 ** 31 + 1_000]])('ends after %d ms, not before', async (ms) => {
      const ended = jest.fn();
      void new WakeUp().wait(ms).then(ended);
      await jest.advanceTimersByTimeAsync(ms - 1);
      expect(ended).not.toHaveBeenCalled();
      await jest.advanceTimersByTimeAsync(1);
      expect(ended).toHaveBeenCalledWith(false);
    });

    test('rejects with the reason of a signal, before and during the wait', async () => {
      const wakeUp = new WakeUp();
      await expect(wakeUp.wait(5, AbortSignal.abort(lost))).rejects.toBe(lost);
      const controller = new AbortController();
      const wait = wakeUp.wait(60_000, controller.signal);
      controller.abort(lost);
      await expect(wait).rejects.toBe(lost);
      wakeUp.wake();
      expect(await wakeUp.wait()).toBe(true);
    });

    test('leaves no listener on the signal', async () => {
      const wakeUp = new WakeUp();
      const { signal } = new AbortController();
      const wait = wakeUp.wait(60_000, signal);
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      wakeUp.wake();
      await wait;
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    });

    test('is refused while another one waits', async () => {
      const wakeUp = new WakeUp();
      const first = wakeUp.wait();
      await expect(wakeUp.wait()).rejects.toThrow(new TypeError('another wait has not ended'));
      wakeUp.wake();
      expect(await first).toBe(true);
    });
  });

  describe('close', () => {
    test('ends the present wait and all later ones at once', async () => {
      const wakeUp = new WakeUp();
      const wait = wakeUp.wait();
      wakeUp.close();
      expect([await wait, await wakeUp.wait(), await wakeUp.wait()]).toEqual([true, true, true]);
    });

    test('with an error makes them reject; the first error counts', async () => {
      const wakeUp = new WakeUp();
      const wait = wakeUp.wait();
      wakeUp.close(lost);
      wakeUp.close(new Error('later'));
      await expect(wait).rejects.toBe(lost);
      await expect(wakeUp.wait()).rejects.toBe(lost);
    });
  });
});

describe('Waiter', () => {
  const waiting = (): { waiter: Waiter; onClose: jest.Mock } => {
    const onClose = jest.fn();
    return { waiter: new Waiter('channel', 'w1', onClose), onClose };
  };
  const body = (text: string): Buffer => Buffer.from(text);
  const message = (text: string): object => ({ type: 'message', body: body(text) });

  describe('next', () => {
    test('returns a message that comes while it waits', async () => {
      const { waiter } = waiting();
      const next = waiter.next();
      waiter.deliver(body('a'));
      expect(await next).toEqual(message('a'));
      expect(jest.getTimerCount()).toBe(0);
    });

    test('returns earlier messages in order, then waits', async () => {
      const { waiter } = waiting();
      for (const text of ['a', 'b', 'c']) waiter.deliver(body(text));
      expect([await waiter.next(), await waiter.next(), await waiter.next()]).toEqual(
        ['a', 'b', 'c'].map(message),
      );
      const next = waiter.next({ deadlineAt: performance.now() + 10 });
      await jest.advanceTimersByTimeAsync(10);
      expect(await next).toEqual({ type: 'timeout' });
    });

    test('ends at its deadline, not before', async () => {
      const { waiter } = waiting();
      const ended = jest.fn();
      void waiter.next({ deadlineAt: performance.now() + 1_000.5 }).then(ended);
      await jest.advanceTimersByTimeAsync(1_000);
      expect(ended).not.toHaveBeenCalled();
      await jest.advanceTimersByTimeAsync(1);
      expect(ended).toHaveBeenCalledWith({ type: 'timeout' });
    });

    test('a deadline farther off than a timer of Node reaches holds', async () => {
      const { waiter } = waiting();
      const ended = jest.fn();
      void waiter.next({ deadlineAt: performance.now() + 2 ** 31 + 1_000 }).then(ended);
      await jest.advanceTimersByTimeAsync(2 ** 31);
      expect(ended).not.toHaveBeenCalled();
      await jest.advanceTimersByTimeAsync(1_001);
      expect(ended).toHaveBeenCalledWith({ type: 'timeout' });
    });

    test.each([[0], [-1], [-Infinity]])('a deadline that has passed by %d ms ends it at once', async (by) => {
      const { waiter } = waiting();
      expect(await waiter.next({ deadlineAt: performance.now() + by })).toEqual({ type: 'timeout' });
      expect(jest.getTimerCount()).toBe(0);
    });

    test('refuses a deadline that is no instant', async () => {
      await expect(waiting().waiter.next({ deadlineAt: Number.NaN })).rejects.toThrow(
        new RangeError('deadlineAt must be an instant in ms, got NaN'),
      );
    });

    test('a kept message wins over a deadline that has passed and a signal that is aborted', async () => {
      const { waiter } = waiting();
      waiter.deliver(body('a'));
      const options = { deadlineAt: 0, signal: AbortSignal.abort(new Error('aborted')) };
      expect(await waiter.next(options)).toEqual(message('a'));
      await expect(waiter.next(options)).rejects.toThrow('aborted');
    });

    test('two at a time are refused, and the first goes on waiting', async () => {
      const { waiter } = waiting();
      const first = waiter.next();
      await expect(waiter.next()).rejects.toThrow(new TypeError('another wait has not ended'));
      waiter.deliver(body('a'));
      expect(await first).toEqual(message('a'));
    });
  });

  describe('signal', () => {
    test('aborted before: rejects with its reason', async () => {
      const { waiter } = waiting();
      await expect(waiter.next({ signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow(
        'too late',
      );
    });

    test('aborted while waiting: rejects with its reason, and the waiter can be used on', async () => {
      const { waiter } = waiting();
      const controller = new AbortController();
      const next = waiter.next({ signal: controller.signal, deadlineAt: performance.now() + 1_000 });
      controller.abort(new Error('changed my mind'));
      await expect(next).rejects.toThrow('changed my mind');
      expect(jest.getTimerCount()).toBe(0);
      waiter.deliver(body('a'));
      expect(await waiter.next()).toEqual(message('a'));
    });

    test('aborted afterwards: changes nothing', async () => {
      const { waiter } = waiting();
      const controller = new AbortController();
      const next = waiter.next({ signal: controller.signal });
      waiter.deliver(body('a'));
      controller.abort(new Error('too late'));
      expect(await next).toEqual(message('a'));
    });

    test('is left without a listener, however the wait ends', async () => {
      const { waiter } = waiting();
      const { signal } = new AbortController();
      const byMessage = waiter.next({ signal });
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      waiter.deliver(body('a'));
      await byMessage;
      const byDeadline = waiter.next({ signal, deadlineAt: performance.now() + 5 });
      await jest.advanceTimersByTimeAsync(5);
      await byDeadline;
      const byClose = waiter.next({ signal });
      waiter.close();
      await byClose;
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    });
  });

  describe('resync', () => {
    test('wakes, and is kept without a wait, once in a row', async () => {
      const { waiter } = waiting();
      const next = waiter.next();
      waiter.resync();
      expect(await next).toEqual({ type: 'resync' });
      waiter.resync();
      waiter.resync();
      waiter.deliver(body('a'));
      expect([await waiter.next(), await waiter.next()]).toEqual([{ type: 'resync' }, message('a')]);
    });

    test('takes the place of more than 1,000 kept messages', async () => {
      const { waiter } = waiting();
      for (let index = 0; index < 1_000; index += 1) waiter.deliver(body(String(index)));
      expect(await waiter.next()).toEqual(message('0'));
      waiter.deliver(body('1000'));
      waiter.deliver(body('1001'));
      waiter.deliver(body('1002'));
      expect([await waiter.next(), await waiter.next()]).toEqual([{ type: 'resync' }, message('1002')]);
    });
  });

  describe('close', () => {
    test('ends a wait with timeout, drops the kept messages, and notifies the hub each time', async () => {
      const { waiter, onClose } = waiting();
      const next = waiter.next();
      waiter.close();
      expect(await next).toEqual({ type: 'timeout' });
      waiter.close();
      expect(onClose.mock.calls).toEqual([[waiter], [waiter]]);
      const other = waiting().waiter;
      other.deliver(body('a'));
      other.close();
      await expect(other.next()).rejects.toThrow(new TypeError('the waiter is closed'));
    });

    test('leaves a message to the wait that it has already woken', async () => {
      const { waiter } = waiting();
      const next = waiter.next();
      waiter.deliver(body('granted'));
      waiter.close();
      expect(await next).toEqual(message('granted'));
    });

    test('after it, next is refused instead of waiting for ever', async () => {
      const { waiter } = waiting();
      waiter.close();
      await expect(waiter.next({ deadlineAt: performance.now() + 10 })).rejects.toThrow(
        'the waiter is closed',
      );
    });

    test('happens at the end of a using block', () => {
      const { waiter, onClose } = waiting();
      {
        using inBlock = waiter;
        expect(inBlock.id).toBe('w1');
      }
      expect(onClose).toHaveBeenCalledTimes(1);
    });
  });

  describe('fail', () => {
    test('ends a wait and every later one with ERR_CLIENT_CLOSED, after the kept messages', async () => {
      const { waiter } = waiting();
      const next = waiter.next();
      waiter.fail();
      await expect(next).rejects.toThrow(ClientClosedError);
      const other = waiting().waiter;
      other.deliver(body('a'));
      other.fail();
      other.close();
      const late = waiting().waiter;
      late.deliver(body('a'));
      late.fail();
      expect(await late.next()).toEqual(message('a'));
      await expect(late.next()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
      await expect(other.next()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    });
  });
});

describe('onAbort', () => {
  test('however many listen, the signal has one listener, and none when all are through', () => {
    const { signal } = new AbortController();
    const stops = Array.from({ length: 1_000 }, () => onAbort(signal, () => undefined));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    for (const stop of stops) stop();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('all callbacks are called in their order, once, except removed ones', () => {
    const controller = new AbortController();
    const calls: string[] = [];
    onAbort(controller.signal, () => calls.push('a'));
    const stop = onAbort(controller.signal, () => calls.push('b'));
    const stopLate = onAbort(controller.signal, () => calls.push('late'));
    onAbort(controller.signal, () => {
      calls.push('c');
      stopLate();
    });
    stop();
    stop();
    controller.abort();
    controller.abort();
    expect(calls).toEqual(['a', 'late', 'c']);
  });

  test('a callback that is removed twice removes no other', () => {
    const controller = new AbortController();
    const calls: string[] = [];
    const stop = onAbort(controller.signal, () => calls.push('a'));
    stop();
    onAbort(controller.signal, () => calls.push('b'));
    stop();
    controller.abort();
    expect(calls).toEqual(['b']);
  });

  test('many waiters may share a signal without a warning of Node', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error): number => warnings.push(warning);
    process.on('warning', warned);
    const controller = new AbortController();
    const reason = new Error('enough');
    const waits = Array.from({ length: 100 }, (_, index) =>
      new Waiter('channel', String(index), () => undefined).next({ signal: controller.signal }),
    );
    // Warnings come after the present tick.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort(reason);
    const results = await Promise.allSettled(waits);
    expect(results).toEqual(waits.map(() => ({ status: 'rejected', reason })));
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    process.off('warning', warned);
  });
});

test('afterMicrotasks runs after the promise callbacks that are due and those that they cause, before timers and I/O', async () => {
  const order: string[] = [];
  const chain = async (depth: number): Promise<void> => {
    for (let turn = 0; turn < depth; turn += 1) await Promise.resolve();
    order.push(`promise ${depth}`);
  };
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      setImmediate(() => {
        order.push('immediate');
        resolve();
      });
      afterMicrotasks(() => order.push('callback'));
      process.nextTick(() => order.push('tick'));
      void chain(1);
      void chain(20);
    });
  });
  expect(order).toEqual(['tick', 'promise 1', 'promise 20', 'callback', 'immediate']);
});

test('a generator made disposable ends at the end of an await using block', async () => {
  const ended: string[] = [];
  async function* count(): AsyncGenerator<number, void, void> {
    try {
      for (let number = 1; ; number += 1) yield number;
    } finally {
      ended.push('closed');
    }
  }
  {
    await using numbers = disposable(count());
    expect(await numbers.next()).toEqual({ value: 1, done: false });
    expect((await numbers.next()).value).toBe(2);
  }
  expect(ended).toEqual(['closed']);
});
