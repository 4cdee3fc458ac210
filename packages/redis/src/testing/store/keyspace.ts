/** The keys of the engine, with their values and expiries. An expired key goes with the next look at it. */
import { wrongType } from '../reply.js';
import { SortedSet } from './sorted-set.js';
import { Stream } from './stream.js';

interface Values {
  string: { text: string };
  list: string[];
  hash: Map<string, string>;
  set: Set<string>;
  zset: SortedSet;
  stream: Stream;
}

export type Kind = keyof Values;

interface Entry<K extends Kind = Kind> {
  readonly kind: K;
  readonly value: Values[K];
  /** ms since the epoch; undefined without an expiry. */
  expiresAt: number | undefined;
  /** Has had long or many elements; Redis never converts back. */
  isLarge: boolean;
}

/** Defaults of Redis 7: above these, a value leaves its compact form. */
const MOST_ELEMENTS: Readonly<Record<Kind, number>> = {
  string: Infinity,
  list: Infinity,
  hash: 512,
  set: 512,
  zset: 128,
  stream: Infinity,
};
const MOST_BYTES = 64;

const EMPTY: { readonly [K in Kind]: () => Values[K] } = {
  string: () => ({ text: '' }),
  list: () => [],
  hash: () => new Map(),
  set: () => new Set(),
  zset: () => new SortedSet(),
  stream: () => new Stream(),
};

function sizeOf({ kind, value }: Entry): number {
  if (kind === 'list') return (value as string[]).length;
  // A stream and a text may be empty.
  return kind === 'string' || kind === 'stream' ? 1 : (value as Set<string>).size;
}

export class Keyspace {
  readonly #entries = new Map<string, Entry>();
  /** The present instant, ms since the epoch. The same one during a command. */
  now = 0;

  get(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    // As in Redis, a key is still there in the ms at which it expires.
    if (entry?.expiresAt !== undefined && entry.expiresAt < this.now) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }

  /** The value of a key of this kind; undefined without one. */
  read<K extends Kind>(key: string, kind: K): Values[K] | undefined {
    const entry = this.get(key);
    if (!entry) return undefined;
    if (entry.kind !== kind) throw wrongType();
    return entry.value as Values[K];
  }

  /** The same, made if it is missing. An empty one has to be dropped with `drop`. */
  open<K extends Kind>(key: string, kind: K): Values[K] {
    const known = this.read(key, kind);
    if (known !== undefined) return known;
    const value = EMPTY[kind]();
    this.#entries.set(key, { kind, value, expiresAt: undefined, isLarge: false });
    return value;
  }

  /** Deletes a key that has lost its last element. */
  drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry && sizeOf(entry) === 0) this.#entries.delete(key);
  }

  /** Notes that a value has got an element. */
  grow(key: string, ...elements: readonly string[]): void {
    const entry = this.#entries.get(key);
    if (!entry || entry.isLarge) return;
    entry.isLarge =
      sizeOf(entry) > MOST_ELEMENTS[entry.kind] || elements.some(({ length }) => length > MOST_BYTES);
  }

  setText(key: string, text: string, expiresAt?: number): void {
    this.#entries.set(key, { kind: 'string', value: { text }, expiresAt, isLarge: false });
  }

  delete(key: string): boolean {
    return this.get(key) !== undefined && this.#entries.delete(key);
  }

  rename(key: string, name: string): void {
    const entry = this.get(key);
    if (!entry || key === name) return;
    this.#entries.delete(key);
    this.#entries.set(name, entry);
  }

  clear(): void {
    this.#entries.clear();
  }

  keys(): string[] {
    return Array.from(this.#entries.keys()).filter((key) => this.get(key));
  }

  /** When the next key expires; Infinity if none does. */
  nextExpiry(): number {
    let next = Infinity;
    for (const { expiresAt } of this.#entries.values())
      if (expiresAt !== undefined) next = Math.min(next, expiresAt);
    return next;
  }
}
