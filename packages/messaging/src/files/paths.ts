/** Paths of files, whose names need not be UTF-8; and how what they name is waited for. */
import { watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

/** Bytes for a name that is no UTF-8. */
export type Path = string | Buffer;

/** Watching may miss a change, and there are file systems that cannot: what is waited for is looked at so often, in ms. */
const LOOK_MS = 1_000;

/** A path as it is recorded: absolute, a character for each byte. */
export function pathText(path: Path): string {
  return (typeof path === 'string' ? Buffer.from(resolve(path)) : path).toString('latin1');
}

export function pathOf(recorded: string): Path {
  const bytes = Buffer.from(recorded, 'latin1');
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : bytes;
}

/** Resolves when the file at a path has changed, or may have; with the signal; or after `ms`, if that is soon. */
export async function change(path: Path, signal: AbortSignal, ms = LOOK_MS): Promise<void> {
  await watched(path, undefined, signal, ms);
}

/** Resolves when a path names something else than before, or may do; with the signal; or after `ms`, if that is soon. */
export async function renaming(path: Path, signal: AbortSignal, ms = LOOK_MS): Promise<void> {
  const text = pathText(path);
  await watched(pathOf(dirname(text)), basename(text), signal, ms);
}

async function watched(path: Path, name: string | undefined, signal: AbortSignal, ms: number): Promise<void> {
  await new Promise<void>((done) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      watcher?.close();
      done();
    };
    const timer = setTimeout(end, Math.min(LOOK_MS, ms));
    signal.addEventListener('abort', end, { once: true });
    let watcher: ReturnType<typeof watch> | undefined;
    try {
      watcher = watch(path, { encoding: 'latin1' }, (_, changed) => {
        if (name === undefined || changed === null || changed === name) end();
      });
      watcher.on('error', () => undefined);
    } catch {
      // Renamed just now, or not to be watched: the timer looks.
    }
    if (signal.aborted) end();
  });
}
