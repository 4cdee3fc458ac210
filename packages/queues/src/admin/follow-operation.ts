/**
 * The progress of one bulk operation as it happens. The process that runs it publishes after each write. A follower reads the stored
 * state then, so a lost or doubled message does no harm.
 */
import type { RedisClient } from '@mortise/redis';
import { callRedis, ClientClosedError, onAbort, WaiterHub, WakeUp } from '@mortise/redis';

import type { BulkOperation } from './bulk-request.js';

interface Followed {
  /** Gets a message after each write. */
  readonly channel: string;
  readonly read: () => Promise<BulkOperation | null>;
  /** Without a write for this time its process is lost. */
  readonly silentMs: number;
  readonly signal: AbortSignal | undefined;
}

/** See `BulkOperations.follow`. */
export async function* followOperation(
  redis: RedisClient,
  { channel, read, silentMs, signal }: Followed,
): AsyncGenerator<BulkOperation, void> {
  const wakeUp = new WakeUp();
  if (signal?.aborted) return;
  const unlisten = signal && onAbort(signal, () => wakeUp.close());
  const stop = await WaiterHub.of(redis).listen(channel, {
    onMessage: () => wakeUp.wake(),
    onResync: () => wakeUp.wake(),
    onClosed: () => wakeUp.close(new ClientClosedError()),
  });
  try {
    let last: string | undefined;
    for (;;) {
      if (signal?.aborted) return;
      const operation = await read();
      if (!operation) return;
      const text = JSON.stringify(operation);
      if (text !== last) yield operation;
      last = text;
      if (operation.status !== 'running') return;
      await wakeUp.wait(Math.max(0, operation.updatedAt + silentMs - Date.now()) + 1);
    }
  } finally {
    stop();
    unlisten?.();
  }
}

/** Wakes the followers of an operation. A lost message is repaired by their recheck. */
export async function publishWrite(redis: RedisClient, channel: string): Promise<void> {
  await callRedis(redis, WaiterHub.of(redis).publishCommand, [channel, '*:']).catch(() => undefined);
}
