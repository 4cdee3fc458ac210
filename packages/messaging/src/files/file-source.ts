/**
 * Where the bytes of a file come from. A path is read to its end; with `follow`, also what is appended until a signal, or until the path
 * names another file (rotated: it was renamed or replaced) or a shorter one (truncated). What had been opened is read to its end
 * either way, since it stays open.
 */
import { watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, stat } from 'node:fs/promises';
import { SourceChangedError } from '../errors.js';

const READ_BYTES = 1 << 20;
/** Watching may miss a change, and there are file systems that cannot: a file that is followed is looked at so often, in ms. */
const LOOK_MS = 1_000;

/** The pieces of a file, in their order. A piece is the reader's until it asks for the next one. */
export async function* readPath(
  path: string,
  name: string,
  follow: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  const handle = await open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (let position = 0; ;) {
      // Before the read: what was appended until now is read, then it may end.
      const isLast = !follow || follow.aborted || !(await isSame(handle, path));
      const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, position);
      position += bytesRead;
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
      else {
        const { size } = await handle.stat();
        if (size < position) {
          if (follow) return;
          throw new SourceChangedError(name, `it was truncated to ${size} bytes after ${position} were sent`);
        }
        if (isLast) return;
        await changed(path, follow);
      }
    }
  } finally {
    await handle.close();
  }
}

/** Whether the path still names the file that is open. */
async function isSame(handle: FileHandle, path: string): Promise<boolean> {
  const [mine, present] = await Promise.all([handle.stat(), stat(path).catch(() => undefined)]);
  return present !== undefined && present.ino === mine.ino && present.dev === mine.dev;
}

async function changed(path: string, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      watcher?.close();
      resolve();
    };
    const timer = setTimeout(end, LOOK_MS);
    signal.addEventListener('abort', end, { once: true });
    let watcher: ReturnType<typeof watch> | undefined;
    try {
      watcher = watch(path, end);
      watcher.on('error', () => undefined);
    } catch {
      // Renamed just now, or not to be watched: the timer looks.
    }
    if (signal.aborted) end();
  });
}

/** Identifies a file by more than its name, so that a new one of that name is another one. */
export async function idOfPath(path: string, name: string): Promise<string> {
  const { ino, birthtimeMs } = await stat(path);
  return `${name}@${ino}-${Math.trunc(birthtimeMs)}`;
}
