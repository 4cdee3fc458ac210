/**
 * The one door through which the code of a virtual process reaches time and chance. The built packages are loaded with these
 * names in place of the globals of Node, so that each process has clocks of its own, and a crash takes all of its timers.
 *
 * Rejected: an object `Clock` that each class of the packages takes. It costs users an option, and a forgotten place reads the
 * real time unseen. Here a forgotten place has no other name to call.
 */
import * as crypto from 'node:crypto';
import type { FakeTimer, Timers } from '../../../../packages/redis/dist/tsc/testing/fake-timer.js';
import type { Random } from '../random.js';

export interface Chance {
  readonly timers: Timers;
  readonly random: Random;
  /** ms since the epoch. */
  readonly wallClock: () => number;
  /** ms of the monotonic clock. */
  readonly monotonic: () => number;
  readonly soon: (callback: () => void) => void;
  /** Lines on stderr. */
  readonly print: (line: string) => void;
}

/** The globals of a module by name, and modules of Node that know the time or draw numbers. */
export interface Door {
  readonly globals: Readonly<Record<string, unknown>>;
  readonly modules: ReadonlyMap<string, unknown>;
}

type Callback = (...args: unknown[]) => void;

export function doorOf(chance: Chance): Door {
  const named = { ...timersOf(chance), ...clocksOf(chance), console: consoleOf(chance) };
  const globals = {
    ...named,
    Math: mathOf(chance.random),
    crypto: cryptoOf(chance.random),
    AbortSignal: abortSignalOf(chance.timers),
    // A collected object would be a matter of memory, not of the seed.
    FinalizationRegistry: Forgetful,
  };
  const modules = new Map<string, unknown>([
    ['node:crypto', cryptoOf(chance.random)],
    ['node:timers', named],
    ['node:timers/promises', promisesOf(chance)],
  ]);
  // Not by assignment, which would call the setters of Node's own global object.
  const own: unknown = Object.create(globalThis, Object.getOwnPropertyDescriptors(globals));
  return { globals: { ...globals, globalThis: own }, modules };
}

class Forgetful {
  register(): void {
    // Nothing is ever collected.
  }

  unregister(): boolean {
    return false;
  }
}

function timersOf({ timers, soon }: Chance): Record<string, unknown> {
  return {
    setTimeout: (callback: Callback, delay?: unknown, ...args: unknown[]) =>
      timers.add(callback, delay, false, args),
    setInterval: (callback: Callback, delay?: unknown, ...args: unknown[]) =>
      timers.add(callback, delay, true, args),
    clearTimeout: (timer: unknown) => timers.find(timer)?.close(),
    clearInterval: (timer: unknown) => timers.find(timer)?.close(),
    setImmediate: (callback: Callback, ...args: unknown[]) => {
      const immediate = { isCleared: false };
      soon(() => {
        if (!immediate.isCleared) callback(...args);
      });
      return immediate;
    },
    clearImmediate: (immediate?: { isCleared: boolean }) => {
      if (immediate) immediate.isCleared = true;
    },
  };
}

function clocksOf({ wallClock, monotonic }: Chance): Record<string, unknown> {
  class VirtualDate extends Date {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(Math.floor(wallClock()));
      else super(...(args as [number]));
    }

    static override now(): number {
      return Math.floor(wallClock());
    }

    static override [Symbol.hasInstance](value: unknown): boolean {
      return Object.prototype.toString.call(value) === '[object Date]';
    }
  }
  return { Date: VirtualDate, performance: { now: monotonic, timeOrigin: wallClock() - monotonic() } };
}

function mathOf(random: Random): typeof Math {
  const own = Object.create(Math) as typeof Math;
  own.random = () => random.next();
  return own;
}

function abortSignalOf(timers: Timers): typeof AbortSignal {
  const timeout = (ms: number): AbortSignal => {
    const controller = new AbortController();
    timers.add(() => controller.abort(new DOMException('timed out', 'TimeoutError')), ms, false, []);
    return controller.signal;
  };
  return new Proxy(AbortSignal, {
    get: (target, name) => (name === 'timeout' ? timeout : (Reflect.get(target, name) as unknown)),
  });
}

function consoleOf({ print }: Chance): object {
  const line = (...parts: unknown[]): void => print(parts.map(String).join(' '));
  return { log: line, error: line, warn: line, info: line };
}

function cryptoOf(random: Random): object {
  const randomBytes = (size: number): Buffer => {
    const bytes = Buffer.alloc(size);
    random.writeTo(bytes);
    return bytes;
  };
  const randomFillSync = <Bytes extends Uint8Array>(bytes: Bytes): Bytes => {
    random.writeTo(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return bytes;
  };
  const randomInt = (least: number, most?: number): number =>
    most === undefined ? random.below(least) : least + random.below(most - least);
  const randomUUID = (): string => uuidOf(randomBytes(16));
  return {
    ...crypto,
    randomBytes,
    randomFillSync,
    randomInt,
    randomUUID,
    // Of the global object of this name.
    getRandomValues: randomFillSync,
  };
}

function uuidOf(bytes: Buffer): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function promisesOf({ timers, soon }: Chance): object {
  const pause = (ms?: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      let timer: FakeTimer | undefined;
      const abort = (): void => {
        timer?.close();
        const error = new Error('The operation was aborted', { cause: signal?.reason });
        reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }));
      };
      if (signal?.aborted) {
        abort();
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      timer = timers.add(
        () => {
          signal?.removeEventListener('abort', abort);
          resolve(value);
        },
        ms,
        false,
        [],
      );
    });
  const immediate = (value?: unknown): Promise<unknown> =>
    new Promise((resolve) => {
      soon(() => resolve(value));
    });
  const module = { setTimeout: pause, setImmediate: immediate };
  return { ...module, default: module };
}
