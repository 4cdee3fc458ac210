import type { Telemetry } from '@mortise/redis';
import { requireDuration, requireInteger, requireName, requireOneOf } from '@mortise/redis';

/** Of a channel of files, for its sender. */
export interface FileSenderOptions {
  /** Who gets every file: 1 to 1,000 names of 1 to 1,024 bytes. All senders of a channel name the same ones. */
  readonly receivers: readonly string[];
  /**
   * The most bytes of one file that are in Redis at once, headers included; at least four chunks. The sender waits while the slowest
   * receiver is further behind. Default 32 MiB.
   */
  readonly windowBytes?: number;
  /** The most bytes of all files of the channel that are in Redis at once; at least `windowBytes`. Default 128 MiB. */
  readonly budgetBytes?: number;
  /**
   * A power of two, from 4 KiB to 8 MiB; a chunk takes 64 bytes less, so that it fits the allocator of Redis.
   * Default 1 MiB, or a 32nd of the window if that is less.
   */
  readonly chunkBytes?: number;
  /** A part of a chunk is sent when its source has been silent for so long, in ms. Default 100. */
  readonly lingerMs?: number;
  /** Another process may go on with a file when its sender was silent for so long, in ms. Default 10,000. */
  readonly leaseMs?: number;
  /** A chunk is kept for so long at most, in ms; and a channel after its last file. Default 24 hours. */
  readonly ttlMs?: number;
  /**
   * What happens when room is needed and a receiver has no lease (it never came, or its process died): `wait` for it; `drop` it
   * from the files that are listed, so that the others go on; `fail` the `send`. Default `wait`.
   */
  readonly deadReceivers?: 'wait' | 'drop' | 'fail';
  /** With `drop` and `fail`: how long a receiver may be away, in ms, counted from when its absence is seen. Default 30,000. */
  readonly graceMs?: number;
  /** Is told what is counted. Default: nobody is. */
  readonly telemetry?: Telemetry;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
}

/** How far a file has been sent. */
export interface FileProgress {
  readonly name: string;
  /** Of the file, that receivers can read. */
  readonly bytes: number;
  /** Stored in Redis at present. */
  readonly storedBytes: number;
}

/** Of one `send`. */
export interface SendFileOptions {
  /** What receivers see; 1 to 1,024 bytes. Default: the last part of the path. */
  readonly name?: string;
  /**
   * Tells files apart. Sending again with the same id continues the file, or does nothing if it was sent whole; what was aborted is sent
   * anew. Default: a new UUID, which is another file each time.
   */
  readonly id?: string;
  /**
   * How many bytes the source has, if it is not a path and that is known: the file reserves no more room than these need. A source with
   * more or fewer bytes is ERR_SOURCE_CHANGED.
   */
  readonly sizeBytes?: number | undefined;
  /**
   * Of a path: reads on at the end of the file, as it grows, until this signal, or until the file is truncated. A sender follows the file
   * that it has opened, whatever its path names meanwhile: a program that rotates a log ends `follow`, and sends the next log with an id
   * of its own.
   */
  readonly follow?: AbortSignal;
  /** Stops: `send` rejects with its reason, and the file stays open, to be sent on later. */
  readonly signal?: AbortSignal;
  /** Called when the file is listed, before its first byte is sent; again when that was forgotten. */
  readonly onListed?: (file: { readonly number: number; readonly epoch: string }) => void;
  /** Called after each chunk. What it throws ends the `send` as an error of the source does. */
  readonly onProgress?: (progress: FileProgress) => void;
}

/** Of a receiver. */
export interface FileReceiverOptions {
  /** Another process may be the receiver when this one was silent for so long, in ms. Default 10,000. */
  readonly leaseMs?: number;
  /** Is told what is counted. Default: nobody is. */
  readonly telemetry?: Telemetry;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
}

/** Of one `files`. */
export interface FilesOptions {
  /** Ends the iteration: it then throws the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Of one reading of a file. */
export interface ReadOptions {
  /** Whether gzip is undone. Default: when the name of the file ends with `.gz`. */
  readonly gunzip?: boolean;
  /** Acks what came before when more is asked for, once for each chunk. With false only `ack` and `done` do. Default true. */
  readonly autoAck?: boolean;
  /** Blocks end with a line feed, all but the last one. Default false. */
  readonly wholeLines?: boolean;
  /** With lines: the most bytes of one. Default 1 MiB; 64 MiB at most, and what the window of the file can hold. */
  readonly maxLineBytes?: number;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;
const DAY_MS = 86_400_000;
const HOURS_MS = 3_600_000;

export const FILE_DEFAULTS = {
  windowBytes: 32 * MIB,
  budgetBytes: 128 * MIB,
  chunkBytes: MIB,
  lingerMs: 100,
  leaseMs: 10_000,
  ttlMs: DAY_MS,
  deadReceivers: 'wait',
  graceMs: 30_000,
  maxLineBytes: MIB,
} as const;

const MIN_CHUNK_BYTES = 4 * KIB;
/** What the allocator of Redis and the head of a value need beside a chunk, so that it takes no more than a power of two. */
const SPARE_BYTES = 64;

export interface FileSenderLimits {
  readonly receivers: readonly string[];
  readonly windowBytes: number;
  readonly budgetBytes: number;
  /** Of a chunk as stored. */
  readonly chunkBytes: number;
  readonly lingerMs: number;
  readonly leaseMs: number;
  readonly ttlMs: number;
  readonly deadReceivers: 'wait' | 'drop' | 'fail';
  readonly graceMs: number;
}

export function resolveFileSenderOptions(options: FileSenderOptions): FileSenderLimits {
  if (!Array.isArray(options?.receivers)) throw new TypeError('receivers must be an array of names');
  const receivers = [...new Set(options.receivers.map((name) => requireName('receivers', name)))].toSorted();
  requireInteger('receivers.length', receivers.length, { min: 1, max: 1_000 });
  const windowBytes = requireInteger('windowBytes', options.windowBytes ?? FILE_DEFAULTS.windowBytes, {
    min: 4 * MIN_CHUNK_BYTES,
    max: 16 * KIB * MIB,
  });
  const chunkBytes = requireInteger('chunkBytes', options.chunkBytes ?? chunkBytesFor(windowBytes), {
    min: MIN_CHUNK_BYTES,
    max: 8 * MIB,
  });
  if (!Number.isInteger(Math.log2(chunkBytes))) {
    throw new RangeError(`chunkBytes must be a power of two, got ${chunkBytes}`);
  }
  if (windowBytes < 4 * chunkBytes) {
    throw new RangeError(`windowBytes must hold four chunks of ${chunkBytes} bytes, got ${windowBytes}`);
  }
  return {
    receivers,
    windowBytes,
    budgetBytes: requireInteger(
      'budgetBytes',
      options.budgetBytes ?? Math.max(FILE_DEFAULTS.budgetBytes, windowBytes),
      {
        min: windowBytes,
      },
    ),
    chunkBytes: chunkBytes - SPARE_BYTES,
    lingerMs: requireDuration('lingerMs', options.lingerMs ?? FILE_DEFAULTS.lingerMs, {
      min: 0,
      max: HOURS_MS,
    }),
    leaseMs: leaseOf(options.leaseMs),
    ttlMs: Math.ceil(
      requireDuration('ttlMs', options.ttlMs ?? FILE_DEFAULTS.ttlMs, { min: 1_000, max: 365 * DAY_MS }),
    ),
    deadReceivers: requireOneOf('deadReceivers', options.deadReceivers ?? FILE_DEFAULTS.deadReceivers, [
      'wait',
      'drop',
      'fail',
    ]),
    graceMs: requireDuration('graceMs', options.graceMs ?? FILE_DEFAULTS.graceMs, { min: 0, max: DAY_MS }),
  };
}

export function resolveFileReceiverOptions(options: FileReceiverOptions): { leaseMs: number } {
  return { leaseMs: leaseOf(options.leaseMs) };
}

export interface ReadLimits {
  readonly gunzip: boolean;
  readonly autoAck: boolean;
  readonly wholeLines: boolean;
  readonly maxLineBytes: number;
}

export function resolveReadOptions(name: string, options: ReadOptions): ReadLimits {
  return {
    gunzip: options.gunzip ?? name.endsWith('.gz'),
    autoAck: options.autoAck ?? true,
    wholeLines: options.wholeLines ?? false,
    maxLineBytes: requireInteger('maxLineBytes', options.maxLineBytes ?? FILE_DEFAULTS.maxLineBytes, {
      min: 1,
      max: 64 * MIB,
    }),
  };
}

/** What is under way to and from Redis comes on top of the window, in chunks: it should be a small part of it. */
function chunkBytesFor(windowBytes: number): number {
  const share = 2 ** Math.floor(Math.log2(windowBytes / 32));
  return Math.min(FILE_DEFAULTS.chunkBytes, Math.max(MIN_CHUNK_BYTES, share));
}

function leaseOf(leaseMs: number = FILE_DEFAULTS.leaseMs): number {
  return Math.ceil(requireDuration('leaseMs', leaseMs, { min: 100, max: 600_000 }));
}
