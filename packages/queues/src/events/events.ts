/**
 * The events of a queue as an async iterable. Each script that changes something appends one entry to the stream of its
 * shard in the same atomic step, so every change has its event. A message on one channel wakes readers. They read pages
 * when the caller asks for more, so a slow reader delays nobody. Events that were trimmed before they were read are
 * reported as a `gap`. Rejected: XREAD BLOCK, a connection for each reader and shard.
 */
import type { Waiter } from '@mortise/redis';
import {
  ArgumentRangeError,
  requireInteger,
  requireOptions,
  requireSignal,
  shownValue,
  WaiterHub,
  WakeUp,
} from '@mortise/redis';
import type { Shards } from '../shard/shards.js';
import type { Shard } from '../shard/shard.js';
import type { QueueEvent } from './event.js';
import type { Page } from './event-reader.js';
import { EventReader } from './event-reader.js';

export interface EventsOptions {
  /** A cursor continues after its event; `oldest` starts with the oldest stored event. Default: events from now on. */
  readonly after?: string | undefined;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
}

export interface LastEventsOptions {
  /** The most events, 1 to 2,000. Default 2,000. */
  readonly limit?: number | undefined;
}

/** Default number of events that each shard keeps after the first read. */
const DEFAULT_KEEP_EVENTS = 10_000;
const OLDEST = 'oldest';
/** A page of them has up to a megabyte or so. */
const MOST_LAST_EVENTS = 2_000;
const OPTIONS = new Set(['after', 'signal']);
const LAST_OPTIONS = new Set(['limit']);
/** A time in 2001, in µs. */
const OLDEST_POSITION = 1e15;
/** Event numbers run ahead of the clock, by one µs for each event beyond a million a second. */
const MOST_AHEAD_MS = 86_400_000;
/** Recheck of every shard, since a message may be lost. */
const RECHECK_MS = 3_000;
const JITTER_MS = 500;

interface Source {
  readonly shard: Shard;
  readonly reader: EventReader;
  /** The number of the last yielded event. */
  position: number;
  hasNews: boolean;
}

/**
 * Iterates over the events of all shards: in order within a shard, merged by time within a page. Checks the options now. The
 * end of an `await using` block ends the iteration, also a `next` that waits.
 */
export function readEvents(shards: Shards, options: EventsOptions): AsyncGenerator<QueueEvent, void> {
  requireOptions('events', options, OPTIONS);
  const { after, signal } = options;
  const positions = after === undefined || after === OLDEST ? undefined : parseCursor(after);
  const notifier = new Notifier(requireSignal(signal));
  const events = iterate(shards, after === OLDEST, positions, notifier);
  const dispose = async (): Promise<void> => {
    notifier.close();
    await events.return();
  };
  return Object.assign(events, { [Symbol.asyncDispose]: dispose });
}

/** The cursor of the newest event, after which later ones are read. Switches events on, as `readEvents` does. */
export async function newestCursor(shards: Shards): Promise<string> {
  const all = await shards.open();
  const positions = await Promise.all(
    all.map(async (shard) => {
      await keepEvents(shard);
      return new EventReader(shard).newest();
    }),
  );
  return cursorOf(positions);
}

/** The last events of each shard, the oldest first: at most so many, of one page. Switches events on. */
export async function lastEvents(shards: Shards, options: LastEventsOptions): Promise<QueueEvent[]> {
  requireOptions('lastEvents', options, LAST_OPTIONS);
  const { limit = MOST_LAST_EVENTS } = options;
  requireInteger('limit', limit, { min: 1, max: MOST_LAST_EVENTS });
  const all = await shards.open();
  const sources = await Promise.all(
    all.map(async (shard): Promise<Source> => {
      await keepEvents(shard);
      const reader = new EventReader(shard);
      return { shard, reader, position: (await reader.newest()) - limit, hasNews: false };
    }),
  );
  const pages = await Promise.all(
    sources.map(async (source) => {
      const page = await source.reader.read(Math.max(0, source.position), limit);
      // A trimmed event is no gap: nobody has asked for all.
      return { source, page: { ...page, missed: 0 } };
    }),
  );
  return [...merge(sources, pages)].slice(-limit);
}

async function* iterate(
  shards: Shards,
  isFromOldest: boolean,
  positions: readonly number[] | undefined,
  notifier: Notifier,
): AsyncGenerator<QueueEvent, void> {
  const { signal } = notifier;
  if (signal?.aborted) return;
  const all = await shards.open();
  if (positions && !areOf(positions, all)) throw refusalOfCursor(cursorOf(positions));
  const follow = async (shard: Shard, from: 'oldest' | 'newest' | number): Promise<Source> => {
    await keepEvents(shard);
    const source: Source = { shard, reader: new EventReader(shard), position: 0, hasNews: true };
    await notifier.listen(source);
    source.position = typeof from === 'number' ? from : await source.reader[from]();
    return source;
  };
  try {
    const begin = isFromOldest ? 'oldest' : 'newest';
    const sources = await Promise.all(
      all.map((shard, index) => follow(shard, positions ? (positions[index] ?? 0) : begin)),
    );
    let lookedAt = performance.now();
    while (!notifier.isClosed) {
      if (performance.now() - lookedAt > RECHECK_MS) {
        lookedAt = performance.now();
        await shards.first.settings.learn(shards.first.redis);
        // `reshard` has added them, so all of their events are new.
        const added = (await shards.open()).slice(sources.length);
        sources.push(...(await Promise.all(added.map((shard) => follow(shard, 0)))));
      }
      const changed = sources.filter((source) => source.hasNews);
      const pages = await Promise.all(
        changed.map(async (source) => {
          source.hasNews = false;
          const page = await source.reader.read(source.position);
          if (page.isFull) source.hasNews = true;
          return { source, page };
        }),
      );
      for (const event of merge(sources, pages)) {
        if (signal?.aborted) return;
        yield event;
      }
      if (signal?.aborted) return;
      if (sources.every((source) => !source.hasNews)) await notifier.wait(sources);
    }
  } catch (error) {
    if (!signal?.aborted || error !== signal.reason) throw error;
  } finally {
    notifier.close();
  }
}

/** Whether a cursor has the shards of the queue, or the fewer shards from before a `reshard`. */
function areOf(positions: readonly number[], all: readonly Shard[]): boolean {
  const hasGrown = all[0]!.settings.values.reshardings > 0 && positions.length < all.length;
  return positions.length === all.length || hasGrown;
}

async function keepEvents(shard: Shard): Promise<void> {
  if (!shard.settings.isKnown) await shard.settings.learn(shard.redis);
  if (shard.settings.values.keepEvents > 0) return;
  await shard.configure((values) => ({ ...values, keepEvents: values.keepEvents || DEFAULT_KEEP_EVENTS }));
}

/** Yields the events of pages, and moves the positions of their sources. */
function* merge(
  sources: readonly Source[],
  pages: readonly { readonly source: Source; readonly page: Page }[],
): Generator<QueueEvent> {
  const cursor = (): string => cursorOf(sources.map(({ position }) => position));
  for (const { source, page } of pages) {
    if (page.missed === 0) continue;
    const first = page.events[0];
    source.position = first ? first.number - 1 : page.last;
    // The number of events of a lost stream is unknown.
    const missed = Number.isNaN(page.missed) ? {} : { missed: page.missed };
    yield { type: 'gap', at: first?.fields.at ?? Date.now(), cursor: cursor(), ...missed };
  }
  const merged = pages
    .flatMap(({ source, page }) => page.events.map((event) => ({ source, event })))
    .toSorted((a, b) => a.event.fields.at - b.event.fields.at);
  for (const { source, event } of merged) {
    source.position = event.number;
    yield { ...event.fields, cursor: cursor() };
  }
  for (const { source, page } of pages) source.position = page.last;
}

function cursorOf(positions: readonly number[]): string {
  return positions.map((position) => position.toString(36)).join('-');
}

function parseCursor(after: string): number[] {
  const parts = typeof after === 'string' ? after.split('-') : [''];
  const positions = parts.map((part) =>
    /^[0-9a-z]{1,11}$/.test(part) ? Number.parseInt(part, 36) : Number.NaN,
  );
  // The first number of a stream is its time in µs, so a number far ahead of now is not a position.
  const newest = (Date.now() + MOST_AHEAD_MS) * 1_000;
  const isPosition = (position: number): boolean =>
    position === 0 || (position >= OLDEST_POSITION && position <= newest);
  if (positions.every(isPosition)) return positions;
  throw refusalOfCursor(after);
}

function refusalOfCursor(after: unknown): Error {
  return new ArgumentRangeError(`after must be "oldest" or the cursor of an event, got ${shownValue(after)}`);
}

/** Learns from messages which shards have new events. */
class Notifier {
  readonly signal: AbortSignal | undefined;
  readonly #waiters: Waiter[] = [];
  readonly #arrival = new WakeUp();
  #isClosed = false;

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async listen(source: Source): Promise<void> {
    const { redis, keys } = source.shard;
    const hub = WaiterHub.of(redis);
    const waiter = await hub.waiter(keys.of.events, hub.newId());
    this.#waiters.push(waiter);
    if (this.#isClosed) waiter.close();
    else void this.#receive(waiter, source);
  }

  /** Waits for a message of any source, for the recheck of all, or for `close`. */
  async wait(sources: readonly Source[]): Promise<void> {
    const isWoken = await this.#arrival.wait(RECHECK_MS + Math.random() * JITTER_MS, this.signal);
    if (!isWoken) for (const source of sources) source.hasNews = true;
  }

  close(): void {
    this.#isClosed = true;
    this.#arrival.close();
    for (const waiter of this.#waiters) waiter.close();
  }

  async #receive(waiter: Waiter, source: Source): Promise<void> {
    try {
      while (!this.#isClosed) {
        await waiter.next();
        source.hasNews = true;
        this.#arrival.wake();
      }
    } catch (error) {
      if (!this.#isClosed) this.#arrival.close(error as Error);
    }
  }
}
