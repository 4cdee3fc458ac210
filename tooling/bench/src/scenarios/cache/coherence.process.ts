/** One process that writes what others have, or reads what others write. */
import type { CacheClient, Life } from './kind.js';
import { cached } from './kind.js';
import { cacheKind } from './kinds/index.js';
import { now } from './now.js';

export interface OpenOptions {
  readonly url: string;
  readonly kind: string;
  readonly life: Life;
}

export interface Written {
  readonly startedAt: number;
  readonly doneAt: number;
}

export interface Watching {
  readonly key: string;
  /** The first value. */
  readonly old: number;
  /** The awaited value; without it, anything but the old value, also nothing. */
  readonly wanted?: number;
  /** Until then, ms since 1970, at the latest. */
  readonly until: number;
}

export interface Watched {
  /** When a read began that still found the old value. */
  readonly lastOldAt: number;
  /** When a read had found what ends it; undefined: none did. */
  readonly otherAt: number | undefined;
}

/** Reads one after the other after which a value is in the process, where it gets there at all. */
const FILLS = 5;
/** For a tier that has yet to open its connections. */
const OPEN_MS = 2_000;

let client: CacheClient | undefined;
let watching: Promise<Watched> | undefined;

async function open({ url, kind, life }: OpenOptions): Promise<void> {
  client = await cacheKind(kind).connect(url, life);
}

async function write({ key, value }: { key: string; value: number }): Promise<Written> {
  const startedAt = now();
  await client!.set(key, cached(key, value));
  return { startedAt, doneAt: now() };
}

/** Reads a value that was written until the process has it. That it does is only known of what can be peeked at. */
async function fill({ key, value }: { key: string; value: number }): Promise<void> {
  const until = now() + OPEN_MS;
  for (let fills = 0; fills < FILLS;) {
    if (now() >= until) throw new Error(`${key} is not in the process`);
    const found = await client!.get(key);
    const has = client!.peek ? client!.peek(key) : found;
    fills = has?.at === value ? fills + 1 : 0;
    await turn();
  }
}

/** Reads without a pause until something comes that is neither the old value nor a failure, or what is wanted. */
async function watch({ key, old, until, wanted }: Watching): Promise<Watched> {
  let lastOldAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    const at = now();
    const found = await readNow(key);
    if (found === old) lastOldAt = at;
    else if (wanted === undefined ? found !== 'failed' : found === wanted)
      return { lastOldAt, otherAt: now() };
    if (now() >= until) return { lastOldAt, otherAt: undefined };
    await turn();
  }
}

/** Begins to watch. */
async function begin(what: Watching): Promise<void> {
  watching = watch(what);
  await turn();
}

/** The result of the watch since `begin`. */
function ended(): Promise<Watched> {
  return watching!;
}

async function readNow(key: string): Promise<number | 'nothing' | 'failed'> {
  try {
    return (await client!.get(key))?.at ?? 'nothing';
  } catch {
    return 'failed';
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const actions = { open, write, fill, begin, ended };

export type CoherenceActions = typeof actions;
export default actions;
