/**
 * A bulk load: entries are read in batches, and a few batches are under way at once, so that neither this process nor the server
 * waits for the other, and memory does not grow with the load.
 */
import type { AddManyOptions, AddManyResult } from '../options.js';

const BATCH = 256;
const UNDER_WAY = 4;

/** @param store resolves to 0 for each entry that is new, and to 1 for each other */
export async function addAll<Entry>(
  entries: Iterable<Entry> | AsyncIterable<Entry>,
  { onProgress, signal }: AddManyOptions,
  store: (batch: readonly Entry[]) => Promise<readonly (string | number)[]>,
): Promise<AddManyResult> {
  let underWay: Promise<readonly (string | number)[]>[] = [];
  let result: AddManyResult = { entries: 0, added: 0 };
  let batch: Entry[] = [];

  async function settleFirst(): Promise<void> {
    const replies = await underWay[0]!;
    underWay = underWay.slice(1);
    const added = replies.filter((reply) => reply === 0).length;
    result = { entries: result.entries + replies.length, added: result.added + added };
    onProgress?.(result);
  }
  async function send(): Promise<void> {
    signal?.throwIfAborted();
    const stored = store(batch);
    // It is awaited in its turn; what fails before is no unhandled rejection.
    stored.catch(() => undefined);
    underWay.push(stored);
    batch = [];
    if (underWay.length === UNDER_WAY) await settleFirst();
  }

  try {
    signal?.throwIfAborted();
    for await (const entry of entries) {
      batch.push(entry);
      if (batch.length === BATCH) await send();
    }
    if (batch.length > 0) await send();
    while (underWay.length > 0) await settleFirst();
    return result;
  } finally {
    await Promise.allSettled(underWay);
  }
}
