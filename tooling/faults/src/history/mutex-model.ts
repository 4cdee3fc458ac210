import type { Model } from './model.js';
import { isNext, mayEnd, mayFindNothing } from './model.js';

interface MutexState {
  readonly granted: number;
  readonly holder: string | null;
}

/** At most one holder at a time. */
export const mutexModel: Model<MutexState> = {
  name: 'mutex',
  initial: { granted: 0, holder: null },
  step(state, step) {
    const { granted, holder } = state;
    const { lease } = step.tenure;
    if (step.kind === 'acquire') {
      return holder === null && isNext(step, granted) ? { granted: granted + 1, holder: lease } : undefined;
    }
    if (holder === lease) return mayEnd(step) ? { granted, holder: null } : undefined;
    return step.kind === 'release' && mayFindNothing(step) ? state : undefined;
  },
  keyOf: ({ granted, holder }) => `${granted} ${holder}`,
  isTooMany: (held) => held.size > 1,
};
