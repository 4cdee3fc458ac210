import { watch } from 'node:fs';
import { onAbort, WakeUp } from '@mortise/redis';

/** Watching may miss a change, and some file systems do not support it, so the file is checked at this interval, ms. */
const LOOK_MS = 1_000;

/** Resolves when the file at a path may have changed, and with the signal. */
export async function changeOf(path: string | Buffer, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const change = new WakeUp();
  const unlisten = onAbort(signal, () => change.wake());
  let watcher: ReturnType<typeof watch> | undefined;
  try {
    watcher = watch(path, () => change.wake());
    watcher.on('error', () => undefined);
  } catch {
    // The file was just renamed, or cannot be watched: the wait ends after LOOK_MS.
  }
  await change.wait(LOOK_MS);
  unlisten();
  watcher?.close();
}
