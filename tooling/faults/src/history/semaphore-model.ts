import type { Model } from './model.js';
import { isNext, mayEnd, mayFindNothing } from './model.js';

interface SemaphoreState {
  readonly granted: number;
  /** By lease. */
  readonly held: ReadonlyMap<string, number>;
  readonly used: number;
}

/** Never more than `limit` permits at a time. */
export function semaphoreModel(limit: number): Model<SemaphoreState> {
  return {
    name: `semaphore(${limit})`,
    initial: { granted: 0, held: new Map(), used: 0 },
    step(state, step) {
      const { granted, held, used } = state;
      const { lease, permits } = step.tenure;
      if (step.kind === 'acquire') {
        if (used + permits > limit || !isNext(step, granted)) return undefined;
        return { granted: granted + 1, held: new Map(held).set(lease, permits), used: used + permits };
      }
      if (!held.has(lease)) return step.kind === 'release' && mayFindNothing(step) ? state : undefined;
      if (!mayEnd(step)) return undefined;
      const left = new Map(held);
      left.delete(lease);
      return { granted, held: left, used: used - permits };
    },
    keyOf: ({ granted, held }) => `${granted} ${[...held.keys()].toSorted().join(' ')}`,
    isTooMany(held) {
      let used = 0;
      for (const { permits } of held) used += permits;
      return used > limit;
    },
  };
}
