import { onAbort } from '@mortise/redis';

/**
 * What the work resolves to, or rejects with. Rejects with the reason of the signal as soon as that is aborted: the work itself
 * can't be stopped, but nobody waits for it any more, and nothing is made of its end.
 */
export async function unlessAborted<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  if (!signal) return work;
  let unlisten: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else unlisten = onAbort(signal, end);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    unlisten?.();
  }
}
