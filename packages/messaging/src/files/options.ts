import { randomUUID } from 'node:crypto';
import type { Resolved, Telemetry } from '@mortise/redis';
import {
  ArgumentRangeError,
  requireArray,
  requireBoolean,
  requireDuration,
  requireFunction,
  requireInteger,
  requireName,
  requireOneOf,
  requireOptions,
  requireSignal,
} from '@mortise/redis';

/** Options of senders, receivers and channels. */
interface SharedOptions {
  /** Receives counts and histograms. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
}

/** Options of a sender. */
export interface FileSenderOptions extends SharedOptions {
  /** The receivers of every file: 1 to 1,000 names of 1 to 1,024 bytes. All senders of a channel name the same receivers. */
  readonly receivers: readonly string[];
  /**
   * Maximum of a file's bytes in Redis, headers included; at least four chunks. The sender waits while the slowest receiver
   * is further behind. At most 16 GiB. Default 32 MiB.
   */
  readonly windowBytes?: number | undefined;
  /** Maximum of all files' bytes in Redis; at least `windowBytes`. Default 128 MiB. */
  readonly budgetBytes?: number | undefined;
  /**
   * A power of two, from 4 KiB to 8 MiB. A chunk holds 64 bytes less, to fit the allocator of Redis. Default 1 MiB, or a 32nd
   * of the window if that is less.
   */
  readonly chunkBytes?: number | undefined;
  /** A partly filled chunk is sent after the source was silent for this time, ms: up to 1 hour. Default 100. */
  readonly lingerMs?: number | undefined;
  /** Another process may continue a file after its sender was silent for this time, ms: from 100 to 600,000. Default 10,000. */
  readonly leaseMs?: number | undefined;
  /** Maximum lifetime of a chunk, and of a channel after its last use, ms: from 1 second to 365 days. Default 24 hours. */
  readonly keepMs?: number | undefined;
  /**
   * The effect when a file needs room and a receiver has no lease, because it never came or its process died. `wait`: the
   * sender waits for the receiver. `drop`: the receiver leaves the listed files, so that the others go on. `fail`: the `send`
   * rejects. Default `wait`.
   */
  readonly deadReceivers?: 'wait' | 'drop' | 'fail' | undefined;
  /**
   * For `drop` and `fail`: how long a receiver may have no lease, ms, after the sender has noticed this: up to 1 day. Default
   * 30,000.
   */
  readonly graceMs?: number | undefined;
}

/** The progress of a file. */
export interface FileProgress {
  readonly name: string;
  /** Bytes that receivers can read. */
  readonly bytes: number;
  /** Bytes in Redis at present. */
  readonly storedBytes: number;
}

/** Options of one `send`. */
export interface SendFileOptions {
  /** The name for receivers; 1 to 1,024 bytes. Default: the last component of the path. */
  readonly name?: string | undefined;
  /**
   * Identifies the file. Sending again with the same id continues the file, or does nothing if it was sent completely; an
   * aborted file is sent anew. Default: a new UUID, so each call sends another file.
   */
  readonly id?: string | undefined;
  /**
   * The size of a source other than a path, in bytes, if known. The file then reserves no more room than it needs. A source
   * with another size fails with ERR_SOURCE_CHANGED.
   */
  readonly sizeBytes?: number | undefined;
  /**
   * For a path: `send` follows the file as it grows, until this signal is aborted or the file is truncated. A sender follows
   * the file that it has opened, even if the path is renamed. A program that rotates a log ends `follow`, and sends the next
   * log with an id of its own.
   */
  readonly follow?: AbortSignal | undefined;
  /** Stops the call: `send` rejects with the signal's reason, and the file stays open to be continued later. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the file is listed, before its first byte is sent. Called again after a failover has lost the file's entry. */
  readonly onListed?: ((file: { readonly number: number; readonly epoch: string }) => void) | undefined;
  /** Called after each chunk. If it throws, `send` ends as for an error of the source. */
  readonly onProgress?: ((progress: FileProgress) => void) | undefined;
}

/** Options of a receiver. */
export interface FileReceiverOptions extends SharedOptions {
  /** Another process may become the receiver after this one was silent for this time, ms: from 100 to 600,000. Default 10,000. */
  readonly leaseMs?: number | undefined;
}

/** Options of a channel for services that pass its files on. */
export interface FileChannelOptions extends SharedOptions {
  /** The holder of receivers' leases: processes with the same holder share them. 1 to 1,024 bytes. Default: a UUID. */
  readonly holder?: string | undefined;
  /** The lease of a receiver after each call, ms: from 100 to 600,000. Default 10,000. */
  readonly leaseMs?: number | undefined;
  /** The channel expires this long after its last use, ms, unless a sender sets another time. Default 24 hours. */
  readonly keepMs?: number | undefined;
}

/** Options of `files`, `received` and `abort`. */
export interface FilesOptions {
  /** Ends the call, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of the `status` of a channel. */
export interface ChannelStatusOptions {
  /** Only files with higher numbers. Default 0. */
  readonly after?: number | undefined;
  /** Maximum of files: 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** Options of a channel's `list`. */
export interface ListFilesOptions {
  /** Only files with higher numbers. Default 0. */
  readonly after?: number | undefined;
  /** Maximum of files. Default 1,000, also the maximum of a channel. */
  readonly limit?: number | undefined;
  /** How long to wait for a file, in ms. Default 0. */
  readonly waitMs?: number | undefined;
  /** Ends the wait: `list` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options for reading a file. */
export interface ReadOptions {
  /** Whether to inflate gzip. Default: if the name of the file ends with `.gz`. */
  readonly gunzip?: boolean | undefined;
  /**
   * Acks earlier bytes when more are requested, about once for two chunks. With false only `ack` and `done` ack. Default true.
   */
  readonly autoAck?: boolean | undefined;
  /** Blocks end with a line feed, except for the last one. Default false. */
  readonly wholeLines?: boolean | undefined;
  /** For lines: maximum bytes of a line. Default 1 MiB; at most 64 MiB and the window of the file. */
  readonly maxLineBytes?: number | undefined;
}

export interface LineOptions extends Omit<ReadOptions, 'wholeLines'> {
  /**
   * Removes the carriage return before a line feed, and a byte-order mark at the beginning of the file. Programs on Windows
   * write both. Default false: lines are as they are.
   */
  readonly universalNewlines?: boolean | undefined;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const FILE_DEFAULTS = {
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

/** Maximum of listed files of a channel. More files wait, as for the budget. */
export const MAX_LISTED = 1_000;

const MIN_CHUNK_BYTES = 4 * KIB;
/** The allocator of Redis and the header of a value need these bytes, so that a chunk takes no more than a power of two. */
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
const STATUS_OPTIONS = new Set(['after', 'limit']);
const STATUS_FILES = 100;
const READ_OPTIONS = new Set<string>([
  'gunzip',
  'autoAck',
  'wholeLines',
  'maxLineBytes',
] satisfies (keyof ReadOptions)[]);

/** `chunkBytes` is what a chunk stores, header included: 64 bytes less than the option. */
export type FileSenderLimits = Resolved<Omit<FileSenderOptions, keyof SharedOptions>>;

export function resolveFileSenderOptions(options: FileSenderOptions): FileSenderLimits {
  requireOptions('FileSender', options, SENDER_OPTIONS);
  const named = requireArray('receivers', options.receivers);
  const receivers = [...new Set(named.map((name) => requireName('receivers', name)))].toSorted();
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
    throw new ArgumentRangeError(`chunkBytes must be a power of two, got ${chunkBytes}`);
  }
  if (windowBytes < 4 * chunkBytes) {
    throw new ArgumentRangeError(
      `windowBytes must hold four chunks of ${chunkBytes} bytes, got ${windowBytes}`,
    );
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

export function resolveFileChannelOptions(
  options: FileChannelOptions,
): Resolved<Omit<FileChannelOptions, keyof SharedOptions>> {
  requireOptions('FileChannel', options, CHANNEL_OPTIONS);
  return {
    holder: requireName('holder', options.holder ?? randomUUID()),
    leaseMs: leaseOf(options.leaseMs),
    keepMs: keepOf(options.keepMs),
  };
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

/** Checks the options of a call that takes only a signal. */
export function checkSignalOption(call: string, options: FilesOptions): void {
  requireOptions(call, options, SIGNAL_OPTIONS);
  requireSignal(options.signal);
}

export function resolveListOptions(options: ListFilesOptions): Resolved<Omit<ListFilesOptions, 'signal'>> {
  requireOptions('list', options, LIST_OPTIONS);
  const { after = 0, limit = MAX_LISTED, waitMs = 0, signal } = options;
  requireSignal(signal);
  return {
    after: requireInteger('after', after, { min: 0 }),
    limit: requireInteger('limit', limit, { min: 1 }),
    waitMs: requireDuration('waitMs', waitMs, { min: 0, max: Infinity }),
  };
}

export function resolveStatusOptions(options: ChannelStatusOptions): Resolved<ChannelStatusOptions> {
  const { after = 0, limit = STATUS_FILES } = requireOptions('status', options, STATUS_OPTIONS);
  return {
    after: requireInteger('after', after, { min: 0 }),
    limit: requireInteger('limit', limit, { min: 1, max: MAX_LISTED }),
  };
}

export function resolveReadOptions(name: string, options: ReadOptions): Resolved<ReadOptions> {
  requireOptions('blocks', options, READ_OPTIONS);
  const { gunzip, autoAck = true, wholeLines = false, maxLineBytes = FILE_DEFAULTS.maxLineBytes } = options;
  return {
    gunzip: requireBoolean('gunzip', gunzip ?? name.endsWith('.gz')),
    autoAck: requireBoolean('autoAck', autoAck),
    wholeLines: requireBoolean('wholeLines', wholeLines),
    maxLineBytes: requireInteger('maxLineBytes', maxLineBytes, { min: 1, max: 64 * MIB }),
  };
}

/** The options of the blocks below the lines, and those of the lines. */
export function resolveLineOptions({ universalNewlines = false, ...options }: LineOptions): {
  readonly blocks: ReadOptions;
  readonly isUniversal: boolean;
} {
  return {
    blocks: { ...options, wholeLines: true },
    isUniversal: requireBoolean('universalNewlines', universalNewlines),
  };
}

/** Chunks in transit come on top of the window, so a chunk should be a small share of it. */
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
