import type { MatcherContext, MatcherResult } from '@mortise/redis/testing';

/** A Mutex, a side of a ReadWriteLock, or a Semaphore. */
interface Inspected {
  inspect(): Promise<object>;
}

interface State {
  readonly holder?: string | null;
  readonly writer?: string | null;
  readonly firstReaders?: readonly string[];
  readonly holders?: readonly { readonly holder: string }[];
}

/** The ids of up to 100 leases of this lock. */
async function holdersOf(lock: Inspected): Promise<string[]> {
  const { holder, writer, firstReaders = [], holders = [] } = (await lock.inspect()) as State;
  const ids = [holder, writer, ...firstReaders, ...holders.map((each) => each.holder)];
  return ids.filter((id) => typeof id === 'string');
}

/** For `expect.extend(lockMatchers)` of jest and vitest. Await the assertion: it reads the lock. */
export const lockMatchers = {
  /** Whether this lease, or the lease of this id, holds the lock. */
  async toBeHeldBy(
    this: MatcherContext,
    lock: Inspected,
    lease: string | { readonly holder: string },
  ): Promise<MatcherResult> {
    const id = typeof lease === 'string' ? lease : lease.holder;
    const holders = await holdersOf(lock);
    const pass = holders.includes(id);
    const message = `expected the lock ${pass ? 'not ' : ''}to be held by ${id}, it is ${shown(holders)}`;
    return { pass, message: () => message };
  },

  /** Whether no lease holds the lock. */
  async toBeFree(this: MatcherContext, lock: Inspected): Promise<MatcherResult> {
    const holders = await holdersOf(lock);
    const pass = holders.length === 0;
    return {
      pass,
      message: () => `expected the lock ${pass ? 'not ' : ''}to be free, it is ${shown(holders)}`,
    };
  },
};

function shown(holders: readonly string[]): string {
  return holders.length === 0 ? 'free' : `held by ${holders.join(', ')}`;
}

/** The types of `lockMatchers`, to merge into those of `expect`. */
export interface LockMatchers<Returned = Promise<void>> {
  toBeHeldBy(lease: string | { readonly holder: string }): Returned;
  toBeFree(): Returned;
}
