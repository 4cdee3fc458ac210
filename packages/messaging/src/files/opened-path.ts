/**
 * A path as a source of bytes. It is opened once: what is told of it and what is read are of the same file, whatever happens to its name. With
 * `follow` also what is appended is read, until a signal, or until the file is shorter than what was read (truncated), or was rotated: its path names
 * another file, or it was removed. Whoever writes a log learns late that it was rotated, so it is read until something is written to the next one, and it was
 * quiet for a while then. What the path has named meanwhile is opened at once, and kept for who reads it next: it may be renamed and removed in its turn.
 *
 * A file is told by device, inode and time of birth, which a new name leaves as they are; and, since a log that is truncated and written anew keeps
 * all three, by what stands at the beginning and at the end of what was sent of it.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { open, stat } from 'node:fs/promises';
import { SourceChangedError } from '../errors.js';
import type { Path } from './paths.js';
import { change, renaming } from './paths.js';

/** What stands in a file, up to a byte: so many bytes at its beginning and before that byte, and a hash of both. */
export interface Print {
  readonly headBytes: number;
  readonly tailBytes: number;
  readonly hash: string;
}

/** How long a file is read on at its end. */
export interface Following {
  /** Until this; undefined: not at all. */
  readonly follow: AbortSignal | undefined;
  /** When it was rotated, and the next one is written, until nothing was written to this one for so long, in ms. */
  readonly quietMs: number;
  /** Nobody waits until the next one is written. */
  readonly isLeft?: boolean;
}

const READ_BYTES = 1 << 20;
/** Of the beginning, and of the end. */
const PRINT_BYTES = 1_024;
const HASH_CHARACTERS = 16;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 8]);

/** Device, inode and birth, as `65025-1179-1763842861123`: what tells a file from the others of its host. */
export async function identityOf(path: Path): Promise<string> {
  return identityFrom(await stat(path, { bigint: true }));
}

function identityFrom({ dev, ino, birthtimeMs }: { dev: bigint; ino: bigint; birthtimeMs: bigint }): string {
  return [dev, ino, birthtimeMs].join('-');
}

export class OpenedPath {
  /** Where reading has ended, in bytes of the file. */
  position = 0;
  /** When it was opened, or looked at again. */
  size = 0;
  readonly #path: Path;
  readonly #handle: FileHandle;
  /** What stood at its beginning then. */
  #beginning: Buffer = Buffer.alloc(0);
  /** What was read up to `position`: its first bytes, if they were, and its last ones. */
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);
  /** Its path was seen to name it; and does still, as far as that was seen. */
  #wasNamed = false;
  #isNamed = true;
  /** Since when it is rotated, and nothing was written to it; on the clock of `performance`. */
  #quietSince: number | undefined;
  /** What its path has named since, in this order. */
  #next: OpenedPath[] = [];
  #isClosed = false;

  private constructor(
    path: Path,
    handle: FileHandle,
    readonly identity: string,
  ) {
    this.#path = path;
    this.#handle = handle;
  }

  /**
   * Of a file that was renamed, `path` is the one that it had. Rejects with the error of the file system, and with TypeError for a directory. The caller
   * closes it.
   */
  static async open(at: Path, path = at): Promise<OpenedPath> {
    const handle = await open(at, 'r');
    try {
      const stats = await handle.stat({ bigint: true });
      if (stats.isDirectory()) throw new TypeError(`${String(at)} is a directory: use sendDirectory`);
      const opened = new OpenedPath(path, handle, identityFrom(stats));
      await opened.look();
      return opened;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Looks at it again, as it is now. */
  async look(): Promise<void> {
    this.size = (await this.#handle.stat()).size;
    this.#beginning = await bytesOf(this.#handle, 0, PRINT_BYTES);
  }

  /** Also of what the path has named since, and nobody has taken. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#handle.close(), ...this.takeNext().map(async (next) => next.close())]);
  }

  /** What its path has named since, in this order; the caller closes them. */
  takeNext(): OpenedPath[] {
    const next = this.#next;
    this.#next = [];
    return next;
  }

  /** Gives it what its path has named since, as far as that is known. */
  giveNext(next: readonly OpenedPath[]): void {
    this.#next.push(...next);
  }

  /** Of what stood in the file when it was opened, with what stands before a byte. */
  async print(to: number): Promise<Print> {
    return printOf(this.#beginning, await bytesOf(this.#handle, Math.max(0, to - PRINT_BYTES), to));
  }

  /** Of what was read, up to where reading has ended. */
  printRead(): Print {
    return printOf(this.#head.length > 0 ? this.#head : this.#beginning, this.#tail);
  }

  /** Whether a print was taken of this, up to that byte. */
  async hasPrint({ headBytes, tailBytes, hash }: Print, to: number): Promise<boolean> {
    if (Math.max(to, headBytes) > this.size) return false;
    const tail = await bytesOf(this.#handle, to - tailBytes, to);
    return hash === hashOf(this.#beginning.subarray(0, headBytes), tail);
  }

  /** Whether a member of gzip begins at a byte. */
  async hasMemberAt(position: number): Promise<boolean> {
    return GZIP_MAGIC.equals(await bytesOf(this.#handle, position, position + GZIP_MAGIC.length));
  }

  /**
   * The pieces of the file from a byte to another one, to its end, or for as long as it is followed, in their order. A piece is the reader's until it asks for
   * the next one. Throws ERR_SOURCE_CHANGED.
   */
  async *read(from: number, to: number, name: string, following: Following): AsyncGenerator<Buffer> {
    const { follow } = following;
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    this.position = from;
    this.#head = this.#tail = Buffer.alloc(0);
    let wasAtEnd = false;
    for (;;) {
      // Before the read: what was appended until now is read, then it may end.
      const isLast = !follow || follow.aborted || (await this.isDeserted(following));
      const { bytesRead } = await this.#handle.read(
        buffer,
        0,
        Math.min(READ_BYTES, to - this.position),
        this.position,
      );
      const piece = buffer.subarray(0, bytesRead);
      this.#note(piece);
      if (bytesRead > 0) {
        if (wasAtEnd) this.#wroteAgo(0);
        yield piece;
        continue;
      }
      const { size, ctimeMs } = await this.#handle.stat();
      if (size < this.position) {
        if (follow) return;
        throw new SourceChangedError(
          name,
          `it was truncated to ${size} bytes after ${this.position} were sent`,
        );
      }
      if (!follow || (isLast && (wasAtEnd || follow.aborted))) return;
      if (wasAtEnd) await this.change(follow, following.quietMs);
      else this.#wroteAgo(Date.now() - ctimeMs);
      wasAtEnd = true;
    }
  }

  /** Whether it was rotated, and nothing was written to it for as long as that may take. */
  async isDeserted({ quietMs, isLeft }: Following): Promise<boolean> {
    const named = await identityOf(this.#path).catch(() => undefined);
    if (named === this.identity) {
      this.#wasNamed = this.#isNamed = true;
      this.#quietSince = undefined;
      return false;
    }
    this.#isNamed = false;
    if (named !== undefined && named !== (this.#next.at(-1) ?? this).identity) await this.#hold();
    const { nlink, ctimeMs } = await this.#handle.stat();
    const isRemoved = named === undefined && nlink === 0;
    if (!isLeft && !isRemoved && !(await this.#isReplaced(named))) return false;
    this.#quietSince ??= performance.now() - (this.#wasNamed ? 0 : Math.max(0, Date.now() - ctimeMs));
    return performance.now() >= this.#quietSince + quietMs;
  }

  /** Whether it has another size than when it was looked at. */
  async hasChanged(): Promise<boolean> {
    return (await this.#handle.stat()).size !== this.size;
  }

  /** Resolves when the file, or what its path names, has changed, or may have; or with the signal. */
  async change(signal: AbortSignal, quietMs: number): Promise<void> {
    if (this.#isNamed) return change(this.#path, signal);
    const quietSince = this.#quietSince ?? performance.now();
    return renaming(this.#path, signal, Math.max(1, quietSince + quietMs - performance.now()));
  }

  /** Whether something was written to what the path has named since; nobody who writes it goes on with this one then, but for who is late. */
  async #isReplaced(named: string | undefined): Promise<boolean> {
    // Of what cannot be read, who reads it next learns why.
    if (this.#next.length === 0) return named !== undefined;
    const stats = await Promise.all(this.#next.map(async (next) => next.#handle.stat()));
    return stats.some(({ size }) => size > 0);
  }

  #wroteAgo(ms: number): void {
    if (this.#quietSince === undefined) return;
    this.#quietSince = Math.max(this.#quietSince, performance.now() - Math.max(0, ms));
  }

  async #hold(): Promise<void> {
    // Renamed again just now, or not to be read: whoever reads it next learns why.
    const next = await OpenedPath.open(this.#path).catch(() => undefined);
    const isOther = next && next.identity !== (this.#next.at(-1) ?? this).identity;
    // Who has closed it doesn't wait for what was looked at just then.
    if (isOther && !this.#isClosed) this.#next.push(next);
    else await next?.close();
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
