/**
 * The tier inside the process, and the rule that keeps it coherent. A value is kept only if none of its keys changed
 * between sending the read and keeping the value. Invalidations come over another connection than values,
 * so either may arrive first. While invalidations cannot arrive, the tier is closed and empty.
 */
import { namedBy } from '../keys.js';
import type { CoherentTier } from './coherence.js';
import { NearStore } from './near-store.js';
import type { Cell } from './near-store.js';

/** A read under way. */
export interface ReadMark {
  readonly redisKeys: Set<string>;
  readonly epoch: number;
  isDirty: boolean;
}

export class NearTier<Value> implements CoherentTier {
  readonly store: NearStore<Value>;
  readonly #marks = new Set<ReadMark>();
  #epoch = 0;
  #isOpen = false;

  constructor(bounds: { readonly entries: number; readonly bytes: number }) {
    this.store = new NearStore(bounds);
  }

  /** Changes whenever invalidations may have been missed. */
  get epoch(): number {
    return this.#epoch;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Invalidations arrive from now on. */
  open(): void {
    this.#isOpen = true;
  }

  /** Invalidations may be missing. */
  close(): void {
    this.#isOpen = false;
    this.clear();
  }

  /** Drops all values, including those being read. */
  clear(): void {
    this.#epoch += 1;
    this.store.clear();
  }

  /** Called before a read is sent. Returns undefined while the tier is closed. */
  mark(redisKeys: readonly string[]): ReadMark | undefined {
    if (!this.#isOpen) return undefined;
    const mark = { redisKeys: new Set(redisKeys), epoch: this.#epoch, isDirty: false };
    this.#marks.add(mark);
    return mark;
  }

  /** The read has ended. */
  unmark(mark: ReadMark | undefined): void {
    if (mark) this.#marks.delete(mark);
  }

  keep(mark: ReadMark | undefined, key: string, cell: Cell<Value>): void {
    if (mark && !mark.isDirty && mark.epoch === this.#epoch) this.store.set(key, cell);
  }

  /** A key has changed in Redis. */
  onChanged(redisKey: string): void {
    const named = namedBy(redisKey);
    if (named?.part === 'value') this.store.delete(named.name);
    else if (named) this.store.deleteTag(named.name);
    for (const mark of this.#marks) if (mark.redisKeys.has(redisKey)) mark.isDirty = true;
  }
}
