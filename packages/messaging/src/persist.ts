import { setTimeout as pause } from 'node:timers/promises';
import { CodedError } from '@mortise/redis';

/** Refusals that a new slot map, the end of a failover or of a restart, or a moment may cure. */
const PASSING_REFUSAL =
  /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|READONLY|BUSY|OOM|UNBLOCKED|NOREPLICAS)\b/;
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/** Whether trying again may help: a lost connection, a failover. Not so a refusal such as missing rights. */
export function isTransient(error: unknown): boolean {
  if (error instanceof CodedError || error instanceof TypeError || error instanceof RangeError) return false;
  return !(error instanceof Error && error.name === 'ReplyError') || PASSING_REFUSAL.test(error.message);
}

/**
 * What `act` resolves to, as soon as that succeeds; undefined when nobody wants it any more. Rejects with an error that
 * trying again won't cure. Between two attempts, up to 50 ms, doubling up to 2 s, with jitter.
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
