/** Reads the events of one shard in pages, and detects gaps. */
import type { Shard } from '../shard/shard.js';
import { eventsOpen, eventsRead } from '../scripts.gen.js';
import type { NumberedEvent } from './event.js';
import { readEntry } from './event.js';

/** Entries of one page. An entry has the events of one script call: up to about 1,000. */
const PAGE = 16;

export interface Page {
  /** Events missed before the first one of the page; NaN when their number is unknown. */
  readonly missed: number;
  readonly events: NumberedEvent[];
  /** The position after a page without events. */
  readonly last: number;
  /** Whether there may be more. */
  readonly isFull: boolean;
}

export class EventReader {
  constructor(readonly shard: Shard) {}

  /** The number of the newest event. */
  async newest(): Promise<number> {
    const reply = await eventsOpen.run(this.shard.redis, { events: this.shard.keys.of.events }, {});
    return Number(reply);
  }

  /** The number before the oldest event. */
  async oldest(): Promise<number> {
    // The newest number first, so that the read after it returns later events.
    const newest = await this.newest();
    const { events } = await this.read(0);
    return events[0] ? events[0].number - 1 : newest;
  }

  /** Reads the events after a number, of so many entries; 0: from the start of the stream. */
  async read(after: number, most: number = PAGE): Promise<Page> {
    const reply = await eventsRead.runBuffer(
      this.shard.redis,
      { events: this.shard.keys.of.events },
      { after, most },
    );
    const [newest, begun, ...entries] = reply as Buffer[];
    const events: NumberedEvent[] = [];
    let missed = 0;
    let last = after;
    for (let index = 0; index < entries.length; index += 2) {
      last = Number(entries[index]!.toString());
      const entry = readEntry(last, entries[index + 1]!);
      if (index === 0 && after > 0) {
        // The reader's position belongs to an earlier stream, which was lost with an unknown number of events.
        const isOther = after < Number(begun!.toString());
        missed = isOther ? Number.NaN : Math.max(0, entry.first - after - 1);
      }
      for (const event of entry.events) if (event.number > after) events.push(event);
    }
    if (entries.length > 0) return { missed, events, last, isFull: entries.length === 2 * most };
    // The stream is newer than the cursor: the earlier one was lost, with a master for example.
    const end = newest!.length > 0 ? Number(newest!.toString()) : after;
    if (end < after) return { missed: Number.NaN, events, last: end, isFull: false };
    return { missed: 0, events, last: after, isFull: false };
  }
}
