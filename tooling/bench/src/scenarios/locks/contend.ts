import { setImmediate as nextTurn } from 'node:timers/promises';

/** Waits for the lock or permit and resolves with what gives it back. */
export type Acquire = () => Promise<() => Promise<unknown>>;

/** Asks again when the library gives up waiting: a contender wants the lock, whatever its defaults are. */
export function persistent(acquire: Acquire): Acquire {
  return async () => {
    for (;;) {
      try {
        return await acquire();
      } catch {
        await nextTurn();
      }
    }
  };
}
