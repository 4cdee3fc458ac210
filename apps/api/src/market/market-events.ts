/**
 * The events of listings. Each script that changes the lists appends its events to a stream in the same step, if the stream is there: its
 * first reader creates it, and it goes away a day after the last read. So a trade of 30 to 45 µs costs 1 µs more while nobody follows
 * the market, and some 10 µs otherwise; 10,000 events take about 0.5 MB. A message wakes readers. They read pages, so a slow one delays
 * nobody. Rejected: XREAD BLOCK, a connection for each reader.
 */
import type { RedisClient } from '@mortise/redis';
import {
  ArgumentRangeError,
  ClientClosedError,
  disposable,
  shownValue,
  waitFor,
  WaiterHub,
  WakeUp,
} from '@mortise/redis';

import { marketEvents } from '../scripts.gen.js';
import type { MarketKeys } from './keys.js';
import { readListing } from './records.js';
import type { Listing } from './types.js';

export interface MarketEvent {
  /**
   * `listed`: it is in the lists now. `sold`, `withdrawn`, `expired`: it is there no more. `reset`: the given event is gone, so later ones
   * may be missing.
   */
  readonly type: 'listed' | 'sold' | 'withdrawn' | 'expired' | 'reset';
  /** The listing; absent for a `reset`. */
  readonly listing?: Listing;
  /** ms since the epoch, by the server's clock; absent for a `reset`. */
  readonly at?: number;
  /** The position of this event: `follow({ after: cursor })` continues after it. */
  readonly cursor: string;
}

const KEEP_MS = 86_400_000;
const PAGE = 100;
/** A wake-up may be lost with a connection that nobody misses. */
const RECHECK_MS = 60_000;
const CURSOR = /^\d{1,15}-\d{1,9}$/;
/** The event without a listing that begins a stream. */
const BEGUN = 'begun';

export class MarketEvents {
  readonly #redis: RedisClient;
  readonly #keys: MarketKeys;

  constructor(redis: RedisClient, keys: MarketKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** The cursor of the newest event, after which later ones are read. Trades write events from then on. One round trip, O(1). */
  async cursor(): Promise<string> {
    return (await this.#read('')).newest;
  }

  /**
   * Iterates over the events after a cursor, or from now on. The stream keeps about 10,000. One round trip for each wake-up, and one each
   * minute. Throws RangeError for a text that is no cursor.
   *
   * @param options.signal Ends the iteration, without an error.
   */
  follow(
    options: { readonly after?: string | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<MarketEvent, void> {
    const { after, signal } = options;
    if (after !== undefined && !CURSOR.test(after))
      throw new ArgumentRangeError(`after must be the cursor of an event, got ${shownValue(after)}`);
    return disposable(this.#iterate(after, signal));
  }

  async *#iterate(
    after: string | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<MarketEvent, void> {
    const wakeUp = new WakeUp();
    const wake = (): void => wakeUp.wake();
    const onClosed = (): void => wakeUp.close(new ClientClosedError());
    const listening = WaiterHub.of(this.#redis).listen(this.#keys.updates, {
      onMessage: wake,
      onResync: wake,
      onClosed,
    });
    try {
      // The read after the subscription finds events that came before it.
      await waitFor(listening, { signal });
      let position = after ?? (await this.cursor());
      for (;;) {
        const { newest, isReset, events } = await waitFor(this.#read(position), { signal });
        if (isReset) {
          position = newest;
          yield { type: 'reset', cursor: position };
        }
        for (const [id, what, record] of events) {
          position = id;
          if (what !== BEGUN) yield eventOf(id, what, record);
        }
        if (events.length < PAGE) await wakeUp.wait(RECHECK_MS, signal);
      }
    } catch (error) {
      if (!signal?.aborted || error !== signal.reason) throw error;
    } finally {
      listening.then(
        (stop) => stop(),
        () => undefined,
      );
    }
  }

  async #read(after: string): Promise<{
    readonly newest: string;
    readonly isReset: boolean;
    readonly events: readonly (readonly [id: string, what: string, record: string])[];
  }> {
    const args = { after, most: PAGE, keepMs: KEEP_MS };
    const reply = (await marketEvents.run(this.#redis, this.#keys, args)) as string[];
    const [newest, status, ...fields] = reply as [string, string, ...string[]];
    const events = Array.from(
      { length: fields.length / 3 },
      (_, index) => fields.slice(3 * index, 3 * index + 3) as [string, string, string],
    );
    return { newest, isReset: status === 'reset', events };
  }
}

function eventOf(id: string, what: string, record: string): MarketEvent {
  const space = record.indexOf(' ');
  return {
    type: what as MarketEvent['type'],
    at: Number(id.split('-')[0]),
    listing: readListing(record.slice(0, space), record.slice(space + 1)),
    cursor: id,
  };
}
