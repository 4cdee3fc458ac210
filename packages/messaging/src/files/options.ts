import type { Telemetry } from '@mortise/redis';
import {
  requireBoolean,
  requireDuration,
  requireFunction,
  requireInteger,
  requireName,
  requireOneOf,
  requireOptions,
  requireSignal,
} from '@mortise/redis';

/** Of a channel of files, for its sender. */
export interface FileSenderOptions {
  /** The receivers of every file: 1 to 1,000 names of 1 to 1,024 bytes. All senders of a channel name the same ones. */
  readonly receivers: readonly string[];
  /**
   * The most bytes of one file that are in Redis at once, headers included; at least four chunks. The sender waits while the slowest
   * receiver is further behind. Default 32 MiB.
   */
  readonly windowBytes?: number;
  /** The most bytes of all files of the channel that are in Redis at once; at least `windowBytes`. Default 128 MiB. */
  readonly budgetBytes?: number;
  /**
   * A power of two, from 4 KiB to 8 MiB. A chunk takes 64 bytes less, so that it fits the allocator of Redis. Default 1 MiB, or a 32nd of
   * the window if that is less.
   */
  readonly chunkBytes?: number;
  /** A chunk that is not full is sent when its source has been silent for this time, in ms. Default 100. */
  readonly lingerMs?: number;
  /** Another process may continue a file when its sender was silent for this time, in ms. Default 10,000. */
  readonly leaseMs?: number;
  /** How long a chunk is kept at most, and a channel after its last use, in ms. Default 24 hours. */
  readonly keepMs?: number;
  /**
   * What happens when room is needed and a receiver has no lease (it never came, or its process died): `wait` for it; `drop` it from the
   * files that are listed, so that the others go on; `fail` the `send`. Default `wait`.
   */
  readonly deadReceivers?: 'wait' | 'drop' | 'fail';
  /** With `drop` and `fail`: how long a receiver may be away, in ms, counted from when its absence is seen. Default 30,000. */
  readonly graceMs?: number;
  /** Receives counts and histograms. Default: none. */
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
  /** What receivers see; 1 to 1,024 bytes. Default: the last component of the path. */
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
  /** Stops: `send` rejects with its reason, and the file stays open, to be continued later. */
  readonly signal?: AbortSignal;
  /** Called when the file is listed, before its first byte is sent; again when a failover has lost that. */
  readonly onListed?: (file: { readonly number: number; readonly epoch: string }) => void;
  /** Called after each chunk. What it throws ends the `send` as an error of the source does. */
  readonly onProgress?: (progress: FileProgress) => void;
}

/** Of a receiver. */
export interface FileReceiverOptions {
  /** Another process may be the receiver when this one was silent for this time, in ms. Default 10,000. */
  readonly leaseMs?: number;
  /** Receives counts and histograms. Default: none. */
  readonly telemetry?: Telemetry;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
}

/** Of a channel of files, for services that hand its files on. */
export interface FileChannelOptions {
  /** Has the leases of receivers: processes with the same holder share them. Default: a UUID. */
  readonly holder?: string;
  /** Nobody else may be the receiver for this time after each call, in ms. Default 10,000. */
  readonly leaseMs?: number;
  /** The channel expires this long after its last use, in ms, unless a sender has said otherwise. Default 24 hours. */
  readonly keepMs?: number;
  /** Receives counts and histograms. Default: none. */
  readonly telemetry?: Telemetry;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
}

/** Of one `files`, `received` or `abort`. */
export interface FilesOptions {
  /** Ends the call: it throws the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Of one `list` of a channel. */
export interface ListFilesOptions {
  /** Files with higher numbers only. Default 0. */
  readonly after?: number;
  /** The most files. Default 1,000, which is also the most that a channel lists. */
  readonly limit?: number;
  /** How long to wait for a file, in ms. Default 0. */
  readonly waitMs?: number;
  /** Ends the wait: `list` rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** Of one reading of a file. */
export interface ReadOptions {
  /** Whether gzip is undone. Default: when the name of the file ends with `.gz`. */
  readonly gunzip?: boolean;
  /** Acks what came before when more is asked for, about once for two chunks. With false only `ack` and `done` do. Default true. */
  readonly autoAck?: boolean;
  /** Blocks end with a line feed, except for the last one. Default false. */
  readonly wholeLines?: boolean;
  /** With lines: the most bytes of one. Default 1 MiB; 64 MiB at most, and what the window of the file can hold. */
  readonly maxLineBytes?: number;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export const FILE_DEFAULTS = {
  windowBytes: 32 * MIB,
  budgetBytes: 128 * MIB,
  chunkBytes: MIB,
  lingerMs: 100,
  leaseMs: 10_000,
  keepMs: DAY_MS,
  deadReceivers: 'wait',
  graceMs: 30_000,
  maxLineBytes: MIB,
} as const;

export const MAX_RECEIVERS = 1_000;

/** The most files in the list of a channel. More files wait, as if the budget were used up. */
export const MAX_LISTED = 1_000;

const MIN_CHUNK_BYTES = 4 * KIB;
/** The allocator of Redis and the header of a value need these beside a chunk, so that it takes no more than a power of two. */
const SPARE_BYTES = 64;

export const SENDER_OPTIONS: ReadonlySet<string> = new Set<keyof FileSenderOptions>([
  'receivers',
  'windowBytes',
  'budgetBytes',
  'chunkBytes',
  'lingerMs',
  'leaseMs',
  'keepMs',
  'deadReceivers',
  'graceMs',
  'telemetry',
  'prefix',
]);
export const RECEIVER_OPTIONS: ReadonlySet<string> = new Set<keyof FileReceiverOptions>([
  'leaseMs',
  'telemetry',
  'prefix',
]);
export const CHANNEL_OPTIONS: ReadonlySet<string> = new Set<keyof FileChannelOptions>([
  'holder',
  'leaseMs',
  'keepMs',
  'telemetry',
  'prefix',
]);
const SEND_OPTIONS = new Set<string>([
  'name',
  'id',
  'sizeBytes',
  'follow',
  'signal',
  'onListed',
  'onProgress',
] satisfies (keyof SendFileOptions)[]);
const DIRECTORY_OPTIONS = new Set(['signal', 'onListed', 'onProgress']);
const SIGNAL_OPTIONS = new Set(['signal']);
const LIST_OPTIONS = new Set(['after', 'limit', 'waitMs', 'signal']);
const READ_OPTIONS = new Set<string>([
  'gunzip',
  'autoAck',
  'wholeLines',
  'maxLineBytes',
] satisfies (keyof ReadOptions)[]);

export interface FileSenderLimits {
  readonly receivers: readonly string[];
  readonly windowBytes: number;
  readonly budgetBytes: number;
  /** Of a chunk as stored. */
  readonly chunkBytes: number;
  readonly lingerMs: number;
  readonly leaseMs: number;
  readonly keepMs: number;
  readonly deadReceivers: 'wait' | 'drop' | 'fail';
  readonly graceMs: number;
}

export function resolveFileSenderOptions(options: FileSenderOptions): FileSenderLimits {
  requireOptions('FileSender', options, SENDER_OPTIONS);
  if (!Array.isArray(options.receivers)) throw new TypeError('receivers must be an array of names');
  const receivers = [...new Set(options.receivers.map((name) => requireName('receivers', name)))].toSorted();
  requireInteger('receivers.length', receivers.length, { min: 1, max: MAX_RECEIVERS });
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
  const budgetBytes = options.budgetBytes ?? Math.max(FILE_DEFAULTS.budgetBytes, windowBytes);
  const lingerMs = options.lingerMs ?? FILE_DEFAULTS.lingerMs;
  const policy = options.deadReceivers ?? FILE_DEFAULTS.deadReceivers;
  return {
    receivers,
    windowBytes,
    budgetBytes: requireInteger('budgetBytes', budgetBytes, { min: windowBytes }),
    chunkBytes: chunkBytes - SPARE_BYTES,
    lingerMs: requireDuration('lingerMs', lingerMs, { min: 0, max: HOUR_MS }),
    leaseMs: leaseOf(options.leaseMs),
    keepMs: keepOf(options.keepMs),
    deadReceivers: requireOneOf('deadReceivers', policy, ['wait', 'drop', 'fail']),
    graceMs: requireDuration('graceMs', options.graceMs ?? FILE_DEFAULTS.graceMs, { min: 0, max: DAY_MS }),
  };
}

export function resolveFileReceiverOptions(options: FileReceiverOptions): { leaseMs: number } {
  requireOptions('FileReceiver', options, RECEIVER_OPTIONS);
  return { leaseMs: leaseOf(options.leaseMs) };
}

export function resolveFileChannelOptions(options: FileChannelOptions): { leaseMs: number; keepMs: number } {
  requireOptions('FileChannel', options, CHANNEL_OPTIONS);
  return { leaseMs: leaseOf(options.leaseMs), keepMs: keepOf(options.keepMs) };
}

export function checkSendOptions(options: SendFileOptions): void {
  requireOptions('send', options, SEND_OPTIONS);
  checkSending(options);
}

export function checkDirectoryOptions(
  options: Pick<SendFileOptions, 'signal' | 'onListed' | 'onProgress'>,
): void {
  requireOptions('sendDirectory', options, DIRECTORY_OPTIONS);
  checkSending(options);
}

/** Of a call that takes a signal only. */
export function checkSignalOption(call: string, options: FilesOptions): void {
  requireOptions(call, options, SIGNAL_OPTIONS);
  requireSignal(options.signal);
}

export function resolveListOptions(options: ListFilesOptions): Required<Omit<ListFilesOptions, 'signal'>> {
  requireOptions('list', options, LIST_OPTIONS);
  const { after = 0, limit = MAX_LISTED, waitMs = 0, signal } = options;
  requireSignal(signal);
  return {
    after: requireInteger('after', after, { min: 0 }),
    limit: requireInteger('limit', limit, { min: 1 }),
    waitMs: requireDuration('waitMs', waitMs, { min: 0, max: Infinity }),
  };
}

export interface ReadLimits {
  readonly gunzip: boolean;
  readonly autoAck: boolean;
  readonly wholeLines: boolean;
  readonly maxLineBytes: number;
}

export function resolveReadOptions(name: string, options: ReadOptions): ReadLimits {
  requireOptions('blocks', options, READ_OPTIONS);
  const { gunzip, autoAck = true, wholeLines = false, maxLineBytes = FILE_DEFAULTS.maxLineBytes } = options;
  return {
    gunzip: requireBoolean('gunzip', gunzip ?? name.endsWith('.gz')),
    autoAck: requireBoolean('autoAck', autoAck),
    wholeLines: requireBoolean('wholeLines', wholeLines),
    maxLineBytes: requireInteger('maxLineBytes', maxLineBytes, { min: 1, max: 64 * MIB }),
  };
}

/** What travels to and from Redis comes on top of the window, in chunks: a chunk should be a small share of it. */
function chunkBytesFor(windowBytes: number): number {
  const share = 2 ** Math.floor(Math.log2(windowBytes / 32));
  return Math.min(FILE_DEFAULTS.chunkBytes, Math.max(MIN_CHUNK_BYTES, share));
}

function checkSending({ follow, signal, onListed, onProgress }: SendFileOptions): void {
  requireSignal(follow);
  requireSignal(signal);
  if (onListed !== undefined) requireFunction('onListed', onListed);
  if (onProgress !== undefined) requireFunction('onProgress', onProgress);
}

function leaseOf(leaseMs: number = FILE_DEFAULTS.leaseMs): number {
  return Math.ceil(requireDuration('leaseMs', leaseMs, { min: 100, max: 600_000 }));
}

function keepOf(keepMs: number = FILE_DEFAULTS.keepMs): number {
  return Math.ceil(requireDuration('keepMs', keepMs, { min: 1_000, max: 365 * DAY_MS }));
}
