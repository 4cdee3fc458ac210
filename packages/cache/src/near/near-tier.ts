/**
 * The tier inside the process, and the rule by which it stays coherent: a value is kept only if nothing that it was read
 * from was changed between the moment before the read was sent and the moment at which it is kept. News of changes
 * come over another connection than values do, so either may come first. While news cannot come, the tier is closed and
 * empty.
 */
import { namedBy } from '../read-through/cache-keys.js';
import type { Newsroom } from './coherence.js';
import { NearStore } from './near-store.js';
import type { Cell } from './near-store.js';

/** One read that is under way. */
export interface ReadMark {
  readonly redisKeys: Set<string>;
  readonly epoch: number;
  isDirty: boolean;
}

export class NearTier<Value> implements Newsroom {
  readonly store: NearStore<Value>;
  readonly #marks = new Set<ReadMark>();
  #epoch = 0;
  #isOpen = false;

  constructor(bounds: { readonly entries: number; readonly bytes: number }) {
    this.store = new NearStore(bounds);
  }

  /** Changes when news may have been missed. */
  get epoch(): number {
    return this.#epoch;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** News come from now on. */
  open(): void {
    this.#isOpen = true;
  }

  /** News may be missing. */
  close(): void {
    this.#isOpen = false;
    this.clear();
  }

  /** Drops everything, and what is being read. */
  clear(): void {
    this.#epoch += 1;
    this.store.clear();
  }

  /** Before a read is sent. Undefined while the tier is closed. */
  mark(redisKeys: readonly string[]): ReadMark | undefined {
    if (!this.#isOpen) return undefined;
    const mark = { redisKeys: new Set(redisKeys), epoch: this.#epoch, isDirty: false };
    this.#marks.add(mark);
    return mark;
  }

  /** The read is over. */
  unmark(mark: ReadMark | undefined): void {
    if (mark) this.#marks.delete(mark);
  }

  keep(mark: ReadMark | undefined, key: string, cell: Cell<Value>): void {
    if (mark && !mark.isDirty && mark.epoch === this.#epoch) this.store.set(key, cell);
  }

  /** Something was changed in Redis. */
  onChanged(redisKey: string): void {
    const named = namedBy(redisKey);
    if (named?.part === 'value') this.store.delete(named.name);
    else if (named) this.store.deleteTag(named.name);
    for (const mark of this.#marks) if (mark.redisKeys.has(redisKey)) mark.isDirty = true;
  }
}
