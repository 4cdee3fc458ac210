import { callAfter } from './call-after.js';
import { onAbort } from './on-abort.js';

/** The result of `waitFor` when the limit comes first. */
export const TIMED_OUT: unique symbol = Symbol('timed out');

export interface WaitForOptions {
  /** The limit in ms. Default: none. */
  readonly waitMs?: number | undefined;
  /** Ends the wait, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Settles as `work` does. Resolves to TIMED_OUT after `waitMs`, and rejects with the signal's reason as soon as the signal is
 * aborted. The work then goes on, and its late end is ignored: the caller has to stop the work.
 *
 * A reply that has arrived within the limit counts, even if a blocked event loop reads it later. For this, the sockets are read
 * once more after the limit.
 */
export function waitFor<Result>(
  work: Promise<Result>,
  options: WaitForOptions & { readonly waitMs?: undefined },
): Promise<Result>;
export function waitFor<Result>(
  work: Promise<Result>,
  options: WaitForOptions,
): Promise<Result | typeof TIMED_OUT>;
export function waitFor<Result>(
  work: Promise<Result>,
  { waitMs = Infinity, signal }: WaitForOptions,
): Promise<Result | typeof TIMED_OUT> {
  if (waitMs === Infinity && !signal) return work;
  return new Promise((resolve, reject) => {
    let cancel: (() => void) | undefined;
    let lastLook: NodeJS.Immediate | undefined;
    let unlisten: (() => void) | undefined;
    const end = (settle: () => void): void => {
      cancel?.();
      clearImmediate(lastLook);
      unlisten?.();
      settle();
    };
    work.then(
      (result) => end(() => resolve(result)),
      (error: unknown) => end(() => reject(error)),
    );
    const abort = (): void => end(() => reject(signal!.reason as Error));
    if (signal?.aborted) return abort();
    unlisten = signal && onAbort(signal, abort);
    const onLimit = (): void => {
      lastLook = setImmediate(() => end(() => resolve(TIMED_OUT)));
    };
    if (waitMs <= 0) onLimit();
    else cancel = callAfter(waitMs, onLimit);
  });
}
