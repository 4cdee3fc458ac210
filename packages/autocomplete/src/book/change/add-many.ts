/**
 * A bulk load. Entries are read in batches, and a few batches are in flight at once: neither this process nor the server waits for
 * the other, and the memory doesn't grow with the load.
 */
import { requireIterable } from '@mortise/redis';
import type { AddManyOptions, AddManyResult } from '../../options.js';

const BATCH = 256;
const MAX_IN_FLIGHT = 4;

/** @param store Resolves to 0 for each new entry and to 1 for each other one. */
export async function addMany<Entry>(
  entries: Iterable<Entry> | AsyncIterable<Entry>,
  { onProgress, signal }: AddManyOptions,
  store: (batch: readonly Entry[]) => Promise<readonly (string | number)[]>,
): Promise<AddManyResult> {
  requireIterable('entries', entries);
  let inFlight: Promise<readonly (string | number)[]>[] = [];
  let result: AddManyResult = { entries: 0, added: 0 };
  let batch: Entry[] = [];

  async function settleFirst(): Promise<void> {
    const replies = await inFlight[0]!;
    inFlight = inFlight.slice(1);
    const added = replies.filter((reply) => reply === 0).length;
    result = { entries: result.entries + replies.length, added: result.added + added };
    onProgress?.(result);
  }
  async function send(): Promise<void> {
    signal?.throwIfAborted();
    const stored = store(batch);
    // Awaited later; until then a rejection must not count as unhandled.
    stored.catch(() => undefined);
    inFlight.push(stored);
    batch = [];
    if (inFlight.length === MAX_IN_FLIGHT) await settleFirst();
  }

  try {
    signal?.throwIfAborted();
    for await (const entry of entries) {
      batch.push(entry);
      if (batch.length === BATCH) await send();
    }
    if (batch.length > 0) await send();
    while (inFlight.length > 0) await settleFirst();
    return result;
  } finally {
    await Promise.allSettled(inFlight);
  }
}
