import { getEventListeners } from 'node:events';
import { describe, expect, jest, test } from '@jest/globals';
import { ClientClosedError, Waiter } from '../src/index.js';

/** performance.now() moves with the timers. */
jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });

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
    await expect(waiter.next({ deadlineAt: performance.now() + 10 })).rejects.toThrow('the waiter is closed');
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
