import { watch } from 'node:fs';

/** Watching may miss a change, and some file systems do not support it, so the file is checked at this interval, ms. */
const LOOK_MS = 1_000;

/** Resolves when the file at a path may have changed, and with the signal. */
export async function changeOf(path: string | Buffer, signal: AbortSignal): Promise<void> {
  await new Promise<void>((done) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      watcher?.close();
      done();
    };
    const timer = setTimeout(end, LOOK_MS);
    signal.addEventListener('abort', end, { once: true });
    let watcher: ReturnType<typeof watch> | undefined;
    try {
      watcher = watch(path, end);
      watcher.on('error', () => undefined);
    } catch {
      // The file was just renamed, or cannot be watched: the timer ends the wait.
    }
    if (signal.aborted) end();
  });
}
