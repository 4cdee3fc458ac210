import type { Model } from './model.js';
import { isNext, mayEnd, mayFindNothing } from './model.js';

interface ReadWriteState {
  readonly granted: number;
  readonly writer: string | null;
  readonly readers: ReadonlySet<string>;
}

/** One writer, or any number of readers. */
export const readWriteModel: Model<ReadWriteState> = {
  name: 'read-write lock',
  initial: { granted: 0, writer: null, readers: new Set() },
  step(state, step) {
    const { granted, writer, readers } = state;
    const { lease, isWriter } = step.tenure;
    if (step.kind === 'acquire') {
      if (writer !== null || (isWriter && readers.size > 0) || !isNext(step, granted)) return undefined;
      return isWriter
        ? { granted: granted + 1, writer: lease, readers }
        : { granted: granted + 1, writer, readers: new Set(readers).add(lease) };
    }
    if (writer === lease) return mayEnd(step) ? { granted, writer: null, readers } : undefined;
    if (!readers.has(lease)) return step.kind === 'release' && mayFindNothing(step) ? state : undefined;
    if (!mayEnd(step)) return undefined;
    const left = new Set(readers);
    left.delete(lease);
    return { granted, writer, readers: left };
  },
  keyOf: ({ granted, writer, readers }) => `${granted} ${writer} ${[...readers].toSorted().join(' ')}`,
  isTooMany: (held) => held.size > 1 && [...held].some(({ isWriter }) => isWriter),
};
