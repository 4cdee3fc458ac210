/**
 * The worker's settings, read once from the environment at boot. The error names every mistake and repeats no value,
 * because addresses of servers contain passwords.
 */
import { LOG_LEVELS } from '@mortise/app-common/log';
import type { RedisPlace, TraceExport } from '@mortise/app-common/settings';
import {
  port,
  read,
  readSettings,
  REDIS_FIELDS,
  redisPlaceOf,
  refineRedis,
  traceExportOf,
  TRACING_FIELDS,
  url,
  wholeNumber,
} from '@mortise/app-common/settings';
import { DEFAULT_PREFIX, MAX_NAME_BYTES } from '@mortise/redis';
import { z } from 'zod';

import type { BlockList } from 'node:net';

import {
  type MailAddress,
  isMailDomain,
  MAIL_QUEUE,
  MARKET_QUEUE,
  parseMailAddress,
} from '@mortise/api/market';
import type { CachedTable } from '@mortise/api/row-cache';
import { parseCachedTables } from '@mortise/api/row-cache';
import { WEBHOOK_QUEUE } from '@mortise/api/webhooks';
import type { Sender } from './mail/compose.js';
import { listOf } from './webhook/networks.js';
import { secretBytes } from './webhook/signature.js';

export interface Config {
  readonly redis: RedisPlace;
  readonly prefix: string;
  /** Without it, mails are files in `mailDirectory`. */
  readonly smtpUrl: string | undefined;
  readonly mailDirectory: string;
  readonly sender: Sender;
  /** The queues that this worker serves, and how many tasks of each run at a time. */
  readonly queues: ReadonlyMap<string, number>;
  readonly leaseMs: number;
  readonly unknownAfterMs: number;
  readonly shutdownTimeoutMs: number;
  /** Of health checks and metrics; 0 is any free port. Without it, 3001 or, if that is taken, any free port. */
  readonly healthPort: number | undefined;
  readonly healthHost: string;
  /** Without it, no traces are recorded. */
  readonly traces: TraceExport | undefined;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** Without it, no access logs are counted. */
  readonly accessLogs: AccessLogs | undefined;
  /** Without it, no rows are kept fresh. */
  readonly cachedRows: CachedRows | undefined;
  /** Without it, no webhooks are delivered. */
  readonly webhooks: Webhooks | undefined;
}

/** How webhooks are signed, and where they may go. */
interface Webhooks {
  readonly secret: Buffer;
  readonly allowed: BlockList;
  readonly allowsHttp: boolean;
}

/** The database of the cached rows. */
export type Database =
  | { readonly type: 'postgres'; readonly url: string }
  | { readonly type: 'sqlite'; readonly path: string };

/** The cached tables, and whether their changes are read from an outbox. */
interface CachedRows {
  readonly database: Database;
  readonly tables: readonly CachedTable[];
  readonly isOutboxRead: boolean;
}

/** The source of access logs, and the database of addresses. */
interface AccessLogs {
  readonly channel: string;
  readonly receiver: string;
  readonly share: { readonly index: number; readonly of: number };
  /** A MaxMind database, or a CSV of ranges. */
  readonly ranges: string;
  readonly keepMs: number;
  readonly maxAgeMs: number;
}

const DAY_MS = 86_400_000;
const MAX_CONCURRENCY = 1_000;
const KNOWN_QUEUES: readonly string[] = [MAIL_QUEUE, MARKET_QUEUE, WEBHOOK_QUEUE];

const Environment = z
  .object({
    ...REDIS_FIELDS,
    ...TRACING_FIELDS,
    MORTISE_PREFIX: keyName().default(DEFAULT_PREFIX),
    SMTP_URL: url('smtp', 'smtps').optional(),
    MAIL_DIR: z.string().default('.data/mail'),
    MAIL_DOMAIN: z
      .string()
      .refine(isMailDomain, 'must be a host name of two labels or more')
      .default('mortise.localhost'),
    MAIL_FROM: z.string().optional().transform(mailbox),
    WORKER_QUEUES: queueList().optional(),
    WORKER_CONCURRENCY: wholeNumber(1, MAX_CONCURRENCY).default(50),
    WORKER_LEASE_MS: wholeNumber(1_000, 3_600_000).default(10_000),
    WORKER_UNKNOWN_AFTER_MS: wholeNumber(0, DAY_MS).default(600_000),
    WORKER_SHUTDOWN_TIMEOUT_MS: wholeNumber(0, 3_600_000).default(10_000),
    WORKER_PORT: port().optional(),
    WORKER_HOST: z.string().default('127.0.0.1'),
    ACCESS_LOG_CHANNEL: keyName().optional(),
    ACCESS_LOG_RECEIVER: keyName().default('worker'),
    ACCESS_LOG_SHARE: z
      .string()
      .regex(/^[1-9]\d{0,2}\/[1-9]\d{0,2}$/, 'must be such as 1/3')
      .default('1/1'),
    ACCESS_LOG_RETENTION_DAYS: wholeNumber(1, 36_500).default(400),
    ACCESS_LOG_MAX_AGE_DAYS: wholeNumber(0, 36_500).optional(),
    GEOIP_DB: z.string().endsWith('.mmdb', 'must be a file ….mmdb').optional(),
    GEO_RANGES: z.string().optional(),
    DATABASE_URL: databasePlace().optional(),
    CACHE_TABLES: read(parseCachedTables).optional(),
    CACHE_OUTBOX: z.stringbool('must be true or false').default(false),
    WEBHOOK_SECRET: read(secretBytes).optional(),
    WEBHOOK_ALLOWED_NETWORKS: read((text) => listOf(text.split(',').map((part) => part.trim()))).optional(),
    WEBHOOK_ALLOW_HTTP: z.stringbool('must be true or false').default(false),
    LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  })
  .superRefine((env, context) => {
    const refuse = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    refineRedis(env, context);
    if (
      env.ACCESS_LOG_CHANNEL !== undefined &&
      (env.GEOIP_DB === undefined) === (env.GEO_RANGES === undefined)
    )
      refuse('GEOIP_DB, GEO_RANGES', 'ACCESS_LOG_CHANNEL needs one of them');
    const [part = 0, parts = 0] = env.ACCESS_LOG_SHARE.split('/').map(Number);
    if (part > parts) refuse('ACCESS_LOG_SHARE', 'the part must not be above the number of parts');
    if (env.WORKER_QUEUES?.has(WEBHOOK_QUEUE) && env.WEBHOOK_SECRET === undefined)
      refuse('WORKER_QUEUES', `the queue ${WEBHOOK_QUEUE} needs WEBHOOK_SECRET`);
    if ((env.DATABASE_URL === undefined) !== (env.CACHE_TABLES === undefined))
      refuse('DATABASE_URL, CACHE_TABLES', 'one needs the other');
  });

/** Reads the settings. An empty variable counts as one that isn't set. Throws SettingsError with all mistakes. */
export function readConfig(variables: NodeJS.ProcessEnv): Config {
  const env = readSettings(Environment, variables);
  const from = env.MAIL_FROM ?? { name: 'Fake Game', address: parseMailAddress(`market@${env.MAIL_DOMAIN}`) };
  return {
    redis: redisPlaceOf(env),
    prefix: env.MORTISE_PREFIX,
    smtpUrl: env.SMTP_URL,
    mailDirectory: env.MAIL_DIR,
    sender: { ...from, domain: env.MAIL_DOMAIN },
    queues: queuesOf(env),
    leaseMs: env.WORKER_LEASE_MS,
    unknownAfterMs: env.WORKER_UNKNOWN_AFTER_MS,
    shutdownTimeoutMs: env.WORKER_SHUTDOWN_TIMEOUT_MS,
    healthPort: env.WORKER_PORT,
    healthHost: env.WORKER_HOST,
    traces: traceExportOf(env),
    logLevel: env.LOG_LEVEL,
    accessLogs: accessLogs(env),
    cachedRows: cachedRows(env),
    webhooks: webhooks(env),
  };
}

function queuesOf(env: z.infer<typeof Environment>): ReadonlyMap<string, number> {
  const own = [MAIL_QUEUE, MARKET_QUEUE, ...(env.WEBHOOK_SECRET ? [WEBHOOK_QUEUE] : [])];
  const chosen = env.WORKER_QUEUES ?? new Map(own.map((name) => [name, undefined]));
  return new Map([...chosen].map(([name, concurrency = env.WORKER_CONCURRENCY]) => [name, concurrency]));
}

function webhooks(env: z.infer<typeof Environment>): Webhooks | undefined {
  const { WEBHOOK_SECRET: secret, WEBHOOK_ALLOWED_NETWORKS: allowed = listOf([]) } = env;
  return secret && { secret, allowed, allowsHttp: env.WEBHOOK_ALLOW_HTTP };
}

function accessLogs(env: z.infer<typeof Environment>): AccessLogs | undefined {
  const ranges = env.GEOIP_DB ?? env.GEO_RANGES;
  if (env.ACCESS_LOG_CHANNEL === undefined || ranges === undefined) return undefined;
  const [part = 1, of = 1] = env.ACCESS_LOG_SHARE.split('/').map(Number);
  return {
    channel: env.ACCESS_LOG_CHANNEL,
    receiver: env.ACCESS_LOG_RECEIVER,
    share: { index: part - 1, of },
    ranges,
    keepMs: env.ACCESS_LOG_RETENTION_DAYS * DAY_MS,
    maxAgeMs: (env.ACCESS_LOG_MAX_AGE_DAYS ?? env.ACCESS_LOG_RETENTION_DAYS) * DAY_MS,
  };
}

function cachedRows({
  DATABASE_URL: database,
  CACHE_TABLES: tables,
  CACHE_OUTBOX: isOutboxRead,
}: z.infer<typeof Environment>): CachedRows | undefined {
  return database && tables && { database, tables, isOutboxRead };
}

/** The first part of every key. */
function keyName() {
  return z
    .string()
    .refine((text) => Buffer.byteLength(text) <= MAX_NAME_BYTES, `must have at most ${MAX_NAME_BYTES} bytes`);
}

/** A URL of PostgreSQL, or `file:` and the path of a SQLite database. */
function databasePlace() {
  return z.string().transform((text, context): Database => {
    const [, path] = /^file:(?:\/\/)?([^?#]+)$/.exec(text) ?? [];
    if (path !== undefined) return { type: 'sqlite', path };
    if (url('postgres', 'postgresql').safeParse(text).success) return { type: 'postgres', url: text };
    context.addIssue({
      code: 'custom',
      message: 'must be postgres://… or file: and the path of a SQLite database',
    });
    return z.NEVER;
  });
}

/** Queues with how many of their tasks run at a time, or without: `mail:20,webhook`. */
function queueList() {
  return z.string().transform((text, context): Map<string, number | undefined> => {
    const queues = new Map<string, number | undefined>();
    for (const part of text.split(',')) {
      const [, name = '', digits] = /^([a-z]+)(?::(\d{1,4}))?$/.exec(part.trim()) ?? [];
      const concurrency = digits === undefined ? undefined : Number(digits);
      const isSound = concurrency === undefined || (concurrency >= 1 && concurrency <= MAX_CONCURRENCY);
      if (KNOWN_QUEUES.includes(name) && isSound && !queues.has(name)) queues.set(name, concurrency);
      else {
        const message = `must be some of ${KNOWN_QUEUES.join(', ')}, each with 1 to ${MAX_CONCURRENCY} tasks at a time if need be: mail:20,webhook:5`;
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      }
    }
    return queues;
  });
}

/** `Name <address>` or `address`. */
function mailbox(
  text: string | undefined,
  context: z.RefinementCtx,
): { name: string; address: MailAddress } | undefined {
  if (text === undefined) return undefined;
  const [, name = '', bracketed] = /^([^<>"\p{Cc}]*)<([^<>]*)>$/u.exec(text) ?? [];
  try {
    return { name: name.trim(), address: parseMailAddress(bracketed ?? text) };
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
}
