import { ErrorReporter, requireDuration, requireInteger, requireOptions } from '@mortise/redis';
import type { OnError } from '@mortise/redis';

/** Options of a cache handler for Next.js. */
export interface NextCacheOptions {
  /** How long an entry is kept, in ms, 1 s to 365 days; Next.js says how long it is fresh. Default 30 days. */
  readonly ttlMs?: number | undefined;
  /** The time limit of a Redis command, in ms, 1 ms to 1 minute; after that a page is rendered without Redis. Default 1 s. */
  readonly commandTimeoutMs?: number | undefined;
  /** Maximum bytes of one entry, up to 64 MiB. Larger entries are not stored. Default 4 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /** Entries of this size or more are compressed. Default: none. */
  readonly compressFromBytes?: number | undefined;
  /** Keeps applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Receives the failures of reads and stores; the same failure once a minute. Default: one line on stderr. */
  readonly onError?: OnError | undefined;
}

/** The part of Next.js's context of a read or a store that the handler reads. */
export interface NextCacheContext {
  readonly kind?: string | undefined;
  readonly fetchCache?: boolean | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly softTags?: readonly string[] | undefined;
  readonly cacheControl?: { readonly expire?: number | undefined } | undefined;
}

/** An entry as Next.js gets it. */
export interface NextCacheValue {
  /** When the entry was stored, in ms since the epoch, by the clock of the process that stored it. */
  readonly lastModified: number;
  /** The value that Next.js has passed to `set`. */
  readonly value: unknown;
  readonly cacheControl?: NextCacheContext['cacheControl'];
}

/** The calls of Next.js. */
export interface NextCacheHandler {
  get(key: string, context: NextCacheContext): Promise<NextCacheValue | null>;
  set(key: string, value: unknown, context: NextCacheContext): Promise<void>;
  revalidateTag(tags: string | readonly string[], durations?: { readonly expire?: number }): Promise<void>;
  resetRequestCache(): void;
}

/** Next.js creates an object for each request. */
export type NextCacheHandlerClass = new (context?: {
  readonly serverDistDir?: string | undefined;
}) => NextCacheHandler;

export interface ResolvedNextOptions {
  readonly ttlMs: number;
  readonly commandTimeoutMs: number;
  readonly maxPayloadBytes: number;
  readonly compressFromBytes: number;
  readonly prefix: string | undefined;
  readonly reporter: ErrorReporter;
}

const DAY_MS = 86_400_000;
const MIB = 1_048_576;
/** No entry is kept longer, so that the record of a tag may go away after it. */
export const MAX_TTL_MS = 365 * DAY_MS;

const NEXT_DEFAULTS = {
  ttlMs: 30 * DAY_MS,
  commandTimeoutMs: 1_000,
  maxPayloadBytes: 4 * MIB,
} as const;

const OPTIONS: ReadonlySet<string> = new Set<keyof NextCacheOptions>([
  'ttlMs',
  'commandTimeoutMs',
  'maxPayloadBytes',
  'compressFromBytes',
  'prefix',
  'onError',
]);

/** Throws TypeError or RangeError. */
export function resolveNextOptions(options: NextCacheOptions): ResolvedNextOptions {
  const { ttlMs, commandTimeoutMs, maxPayloadBytes, compressFromBytes, prefix, onError } = {
    ...NEXT_DEFAULTS,
    ...requireOptions('nextCacheHandler', options, OPTIONS),
  };
  const timeout = { min: 1, max: 60_000 };
  return {
    ttlMs: Math.ceil(requireDuration('ttlMs', ttlMs, { min: 1_000, max: MAX_TTL_MS })),
    commandTimeoutMs: Math.ceil(requireDuration('commandTimeoutMs', commandTimeoutMs, timeout)),
    maxPayloadBytes: requireInteger('maxPayloadBytes', maxPayloadBytes, { min: 1, max: 64 * MIB }),
    compressFromBytes:
      compressFromBytes === undefined
        ? Infinity
        : requireInteger('compressFromBytes', compressFromBytes, { min: 0 }),
    prefix,
    reporter: new ErrorReporter('mortise cache', onError),
  };
}
