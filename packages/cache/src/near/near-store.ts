/**
 * Values in the memory of the process, bounded by number and bytes. A second-chance queue makes room. The oldest entry is
 * dropped, unless it was read since it reached the front: then it moves to the back once. A hit only sets a mark. LRU would
 * move the entry at each hit, which takes longer than the rest of the hit.
 */

export interface Cell<Value> {
  readonly value: Value;
  readonly bytes: number;
  readonly tags: readonly string[];
  /** The first bytes of the stored value, which identify its version. */
  readonly seen: Buffer;
  /** Instants of `performance.now()`. */
  readonly freshUntil: number;
  readonly earlyFrom: number;
  readonly loadMs: number;
  isRead: boolean;
}

/** Estimated overhead of an entry, and of each of its tags. */
const ENTRY_BYTES = 200;
const TAG_BYTES = 150;

export class NearStore<Value> {
  readonly #cells = new Map<string, Cell<Value>>();
  readonly #byTag = new Map<string, Set<string>>();
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor({ entries, bytes }: { readonly entries: number; readonly bytes: number }) {
    this.#maxEntries = entries;
    this.#maxBytes = bytes;
  }

  get entries(): number {
    return this.#cells.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** O(1). Drops a cell that is no longer fresh. @param now From `performance.now()`. */
  get(key: string, now: number): Cell<Value> | undefined {
    const cell = this.#cells.get(key);
    if (cell === undefined) return undefined;
    if (now >= cell.freshUntil) {
      this.delete(key);
      return undefined;
    }
    cell.isRead = true;
    return cell;
  }

  /** Ignores a cell that is larger than the whole store. */
  set(key: string, cell: Cell<Value>): void {
    this.delete(key);
    const bytes = sizeOf(key, cell);
    if (bytes > this.#maxBytes) return;
    while (this.#cells.size >= this.#maxEntries || this.#bytes + bytes > this.#maxBytes) this.#makeRoom();
    this.#cells.set(key, cell);
    this.#bytes += bytes;
    for (const tag of cell.tags) {
      const keys = this.#byTag.get(tag);
      if (keys) keys.add(key);
      else this.#byTag.set(tag, new Set([key]));
    }
  }

  delete(key: string): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) return;
    this.#cells.delete(key);
    this.#bytes -= sizeOf(key, cell);
    for (const tag of cell.tags) {
      const keys = this.#byTag.get(tag);
      if (keys?.delete(key) && keys.size === 0) this.#byTag.delete(tag);
    }
  }

  deleteTag(tag: string): void {
    for (const key of this.#byTag.get(tag) ?? []) this.delete(key);
  }

  clear(): void {
    this.#cells.clear();
    this.#byTag.clear();
    this.#bytes = 0;
  }

  #makeRoom(): void {
    for (const [key, cell] of this.#cells) {
      if (!cell.isRead) {
        this.delete(key);
        return;
      }
      cell.isRead = false;
      this.#cells.delete(key);
      this.#cells.set(key, cell);
    }
  }
}

function sizeOf(key: string, cell: Cell<unknown>): number {
  let bytes = ENTRY_BYTES + 2 * key.length + cell.bytes;
  for (const tag of cell.tags) bytes += TAG_BYTES + 2 * tag.length;
  return bytes;
}
