/**
 * A path as a source of bytes. It is opened once: what is told of it and what is read are of the same file, whatever happens to its name. With
 * `follow` also what is appended is read, until a signal, or until the path names another file (rotated: it was renamed or replaced) or a
 * shorter one (truncated). What had been opened is read to its end either way.
 *
 * A file is told by device, inode and time of birth, which a new name leaves as they are; and, since a log that is truncated and written anew keeps
 * all three, by what stands at the beginning and at the end of what was sent of it.
 */
import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, stat } from 'node:fs/promises';
import { SourceChangedError } from '../errors.js';

/** Bytes for a name that is no UTF-8. */
export type Path = string | Buffer;

/** What stands in a file, up to a byte: so many bytes at its beginning and before that byte, and a hash of both. */
export interface Print {
  readonly headBytes: number;
  readonly tailBytes: number;
  readonly hash: string;
}

const READ_BYTES = 1 << 20;
/** Watching may miss a change, and there are file systems that cannot: a file that is followed is looked at so often, in ms. */
const LOOK_MS = 1_000;
/** Of the beginning, and of the end. */
const PRINT_BYTES = 1_024;
const HASH_CHARACTERS = 16;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 8]);

/** Device, inode and birth, as `65025-1179-1763842861123`. */
export async function identityOf(path: Path): Promise<string> {
  return identityFrom(await stat(path, { bigint: true }));
}

function identityFrom({ dev, ino, birthtimeMs }: { dev: bigint; ino: bigint; birthtimeMs: bigint }): string {
  return [dev, ino, birthtimeMs].join('-');
}

export class OpenedPath {
  /** Where reading has ended, in bytes of the file. */
  position = 0;
  readonly #path: Path;
  readonly #handle: FileHandle;
  /** What was read up to `position`: its first bytes, if they were, and its last ones. */
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);

  private constructor(
    path: Path,
    handle: FileHandle,
    readonly identity: string,
    /** When it was opened. */
    readonly size: number,
    /** What stood at its beginning then. */
    private readonly beginning: Buffer,
  ) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Rejects with the error of the file system, and with TypeError for a directory. The caller closes it. */
  static async open(path: Path): Promise<OpenedPath> {
    const handle = await open(path, 'r');
    try {
      const stats = await handle.stat({ bigint: true });
      if (stats.isDirectory()) throw new TypeError(`${String(path)} is a directory: use sendDirectory`);
      const beginning = await bytesOf(handle, 0, PRINT_BYTES);
      return new OpenedPath(path, handle, identityFrom(stats), Number(stats.size), beginning);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** Of what stood in the file when it was opened, with what stands before a byte. */
  async print(to: number): Promise<Print> {
    return printOf(this.beginning, await bytesOf(this.#handle, Math.max(0, to - PRINT_BYTES), to));
  }

  /** Of what was read, up to where reading has ended. */
  printRead(): Print {
    return printOf(this.#head.length > 0 ? this.#head : this.beginning, this.#tail);
  }

  /** Whether a print was taken of this, up to that byte. */
  async hasPrint({ headBytes, tailBytes, hash }: Print, to: number): Promise<boolean> {
    if (Math.max(to, headBytes) > this.size) return false;
    const tail = await bytesOf(this.#handle, to - tailBytes, to);
    return hash === hashOf(this.beginning.subarray(0, headBytes), tail);
  }

  /** Whether a member of gzip begins at a byte. */
  async hasMemberAt(position: number): Promise<boolean> {
    return GZIP_MAGIC.equals(await bytesOf(this.#handle, position, position + GZIP_MAGIC.length));
  }

  /**
   * The pieces of the file from a byte to another one, to its end, or for as long as it is followed, in their order. A piece is the reader's until it asks for
   * the next one. Throws ERR_SOURCE_CHANGED.
   */
  async *read(
    from: number,
    to: number,
    name: string,
    follow: AbortSignal | undefined,
  ): AsyncGenerator<Buffer> {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    this.position = from;
    this.#head = this.#tail = Buffer.alloc(0);
    for (;;) {
      // Before the read: what was appended until now is read, then it may end.
      const isLast = !follow || follow.aborted || !(await this.isNamed());
      const { bytesRead } = await this.#handle.read(
        buffer,
        0,
        Math.min(READ_BYTES, to - this.position),
        this.position,
      );
      const piece = buffer.subarray(0, bytesRead);
      this.#note(piece);
      if (bytesRead > 0) yield piece;
      else {
        const { size } = await this.#handle.stat();
        if (size < this.position) {
          if (follow) return;
          throw new SourceChangedError(
            name,
            `it was truncated to ${size} bytes after ${this.position} were sent`,
          );
        }
        if (isLast) return;
        await this.change(follow);
      }
    }
  }

  /** Whether the path still names this file. */
  async isNamed(): Promise<boolean> {
    return (await identityOf(this.#path).catch(() => undefined)) === this.identity;
  }

  /** Whether it has another size than when it was opened. */
  async hasChanged(): Promise<boolean> {
    return (await this.#handle.stat()).size !== this.size;
  }

  /** Resolves when the file has changed, or may have; or with the signal. */
  async change(signal: AbortSignal): Promise<void> {
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
        watcher = watch(this.#path, end);
        watcher.on('error', () => undefined);
      } catch {
        // Renamed just now, or not to be watched: the timer looks.
      }
      if (signal.aborted) end();
    });
  }

  #note(piece: Buffer): void {
    const missing = PRINT_BYTES - this.#head.length;
    const isHead = this.position === this.#head.length && missing > 0;
    if (isHead) this.#head = Buffer.concat([this.#head, piece.subarray(0, missing)]);
    this.#tail = Buffer.concat([this.#tail, piece.subarray(-PRINT_BYTES)]).subarray(-PRINT_BYTES);
    this.position += piece.length;
  }
}

async function bytesOf(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(to - from), 0, to - from, from);
  return buffer.subarray(0, bytesRead);
}

function printOf(head: Buffer, tail: Buffer): Print {
  return { headBytes: head.length, tailBytes: tail.length, hash: hashOf(head, tail) };
}

function hashOf(head: Buffer, tail: Buffer): string {
  const digest = createHash('sha256').update(head).update(tail).digest('base64url');
  return digest.slice(0, HASH_CHARACTERS);
}
