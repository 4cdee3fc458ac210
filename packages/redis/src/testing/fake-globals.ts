/** The places of Node from which programs read the time. */
import { syncBuiltinESMExports } from 'node:module';
import * as promises from 'node:timers/promises';
import timersPromises from 'node:timers/promises';
import { FakeTimer } from './fake-timer.js';
import type { Timers } from './fake-timer.js';

interface Time {
  readonly timers: Timers;
  /** ms since the epoch. */
  readonly now: () => number;
}

let isInstalled = false;

/** Replaces the timers, `Date` and `performance.now()`. Returns what puts them back. */
export function installGlobals({ timers, now }: Time): () => void {
  if (isInstalled) throw new Error('a test clock is installed already: close the first one before a second');
  isInstalled = true;
  timers.now = now;
  const restores = [
    replaceTimers(timers),
    replaceProperty(globalThis, 'Date', fakeDate(now)),
    replaceProperty(globalThis, 'performance', fakePerformance(now)),
    replacePause(timers),
  ];
  return () => {
    if (!isInstalled) return;
    isInstalled = false;
    for (const restore of restores) restore();
  };
}

function replaceProperty(target: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(target, name)!;
  Object.defineProperty(target, name, {
    value,
    configurable: true,
    writable: true,
    enumerable: before.enumerable ?? false,
  });
  return () => Object.defineProperty(target, name, before);
}

type TimerArguments = [callback: (...args: unknown[]) => void, delay?: unknown, ...args: unknown[]];

function replaceTimers(timers: Timers): () => void {
  const { clearTimeout: endTimeout } = globalThis;
  const clear = (timer: unknown): void => {
    const own = timer === undefined || timer === null ? undefined : timers.find(timer);
    if (own) own.close();
    // One that was set before the clock was installed.
    else if (!(timer instanceof FakeTimer)) endTimeout(timer as NodeJS.Timeout);
  };
  const restores = [
    replaceProperty(globalThis, 'setTimeout', (...[callback, delay, ...args]: TimerArguments) =>
      timers.add(callback, delay, false, args),
    ),
    replaceProperty(globalThis, 'setInterval', (...[callback, delay, ...args]: TimerArguments) =>
      timers.add(callback, delay, true, args),
    ),
    replaceProperty(globalThis, 'clearTimeout', clear),
    replaceProperty(globalThis, 'clearInterval', clear),
  ];
  return () => {
    for (const restore of restores) restore();
  };
}

/** `setTimeout` of node:timers/promises. Modules that jest loads as ES modules keep the one of Node. */
function replacePause(timers: Timers): () => void {
  const pause = (ms?: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const abort = (): void => {
        timer.close();
        const { reason } = signal as { reason: unknown };
        reject(
          Object.assign(new Error('The operation was aborted', { cause: reason }), {
            name: 'AbortError',
            code: 'ABORT_ERR',
          }),
        );
      };
      const timer = timers.add(
        () => {
          signal?.removeEventListener('abort', abort);
          resolve(value);
        },
        ms,
        false,
        [],
      );
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  const { setTimeout: before } = promises;
  const target = timersPromises as { setTimeout: unknown };
  target.setTimeout = pause;
  syncBuiltinESMExports();
  return () => {
    target.setTimeout = before;
    syncBuiltinESMExports();
  };
}

function fakeDate(now: () => number): typeof Date {
  const Real = Date;
  class FakeDate extends Real {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(now());
      else super(...(args as [number]));
    }

    static override now(): number {
      return now();
    }

    static override [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof Real;
    }
  }
  // As a function it returns a text.
  return new Proxy(FakeDate, { apply: () => new FakeDate().toString() }) as typeof Date;
}

function fakePerformance(now: () => number): typeof performance {
  const real = performance;
  const [startedAt, realStart] = [now(), real.now()];
  return new Proxy(real, {
    get(target, name) {
      if (name === 'now') return () => realStart + now() - startedAt;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}
