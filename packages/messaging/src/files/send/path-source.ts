/**
 * A path as a source of bytes. It is opened once, so all bytes belong to one file even if the path is renamed. A sender
 * doesn't look for renamed or rotated files: that is the task of the program that rotates them.
 */
import { watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { ArgumentTypeError, onAbort, WakeUp } from '@mortise/redis';
import { SourceChangedError } from '../errors.js';

/** Bytes for a name that is not UTF-8. */
export type Path = string | Buffer;

export interface ReadRange {
  /** Reading ends before this byte; an earlier end of the file is an error. Default: the end of the file. */
  readonly to?: number | undefined;
  /** Reading continues at the end of the file until this signal. */
  readonly follow?: AbortSignal | undefined;
}

const READ_BYTES = 1 << 20;
/** Watching may miss a change, and some file systems do not support it, so the file is checked at this interval, ms. */
const LOOK_MS = 1_000;

export class PathSource {
  /** The offset at which reading has ended. */
  position = 0;
  readonly #path: Path;
  readonly #handle: FileHandle;

  private constructor(
    path: Path,
    handle: FileHandle,
    /** Device, inode and birth time, which identify the file on its host. */
    readonly identity: string,
    /** The size in bytes when it was opened. */
    readonly size: number,
  ) {
    this.#path = path;
    this.#handle = handle;
  }

  /** The caller closes it. Rejects with the error of the file system, and with TypeError for a directory. */
  static async open(path: Path): Promise<PathSource> {
    const handle = await open(path, 'r');
    try {
      const stats = await handle.stat({ bigint: true });
      if (stats.isDirectory())
        throw new ArgumentTypeError(`${String(path)} is a directory: use sendDirectory`);
      const identity = [stats.dev, stats.ino, stats.birthtimeMs].join('-');
      return new PathSource(path, handle, identity, Number(stats.size));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /**
   * The bytes of the file from its beginning. The caller may use a piece until it requests the next one. A file that is
   * truncated while it is followed ends there. Throws ERR_SOURCE_CHANGED.
   */
  async *read(name: string, { to = Infinity, follow }: ReadRange): AsyncGenerator<Buffer> {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    this.position = 0;
    while (this.position < to) {
      // Read before the file, so that bytes appended before the signal are still read.
      const isLast = !follow || follow.aborted;
      const length = Math.min(READ_BYTES, to - this.position);
      const { bytesRead } = await this.#handle.read(buffer, 0, length, this.position);
      if (bytesRead > 0) {
        this.position += bytesRead;
        yield buffer.subarray(0, bytesRead);
        continue;
      }
      const { size } = await this.#handle.stat();
      if (size < this.position && follow) return;
      if (size < this.position || (isLast && to < Infinity)) {
        const needed = to < Infinity ? to : this.position;
        throw new SourceChangedError(name, `it has ${size} bytes, and ${needed} were sent`);
      }
      if (isLast) return;
      await changeOf(this.#path, follow);
    }
  }
}

/** Resolves when the file at a path may have changed, and with the signal. */
async function changeOf(path: string | Buffer, signal: AbortSignal): Promise<void> {
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
