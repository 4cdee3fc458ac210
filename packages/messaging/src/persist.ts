import { setTimeout as pause } from 'node:timers/promises';
import type { RedisClient } from '@mortise/redis';
import { ClientClosedError, isClosed, isTransient } from '@mortise/redis';

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/**
 * Repeats `act` until it succeeds; resolves to undefined when the result is not wanted any more. Rejects with an error that a
 * retry cannot cure. Pauses up to 50 ms between two attempts, doubling up to 2 s, with jitter.
 */
export async function persist<Result>(
  isWanted: () => boolean,
  act: () => Promise<Result>,
): Promise<Result | undefined> {
  for (let ceiling = MIN_PAUSE_MS; isWanted(); ceiling = Math.min(2 * ceiling, MAX_PAUSE_MS)) {
    try {
      return await act();
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    await pause(Math.ceil(ceiling * (0.5 + Math.random() / 2)), undefined, { ref: false });
  }
  return undefined;
}

/**
 * Resolves as `act` does, repeated by `persist` while `isWanted`. Rejects with the signal's reason, and with
 * ERR_CLIENT_CLOSED when the client is closed.
 */
export async function persisted<Result>(
  redis: RedisClient,
  signal: AbortSignal | undefined,
  act: () => Promise<Result>,
  isWanted: () => boolean = () => true,
): Promise<Result> {
  let result: { readonly value: Result } | undefined;
  await persist(
    () => isWanted() && !signal?.aborted && !isClosed(redis),
    async () => {
      result = { value: await act() };
    },
  );
  if (result) return result.value;
  throw signal?.aborted ? (signal.reason as Error) : new ClientClosedError();
}
