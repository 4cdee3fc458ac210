/** The environment, read once at boot. With wrong settings the program reports all of them, and doesn't start. */
import { DEFAULT_PREFIX } from '@mortise/redis';
import { z } from 'zod';

import { parseCachedTables } from './cached-tables.js';

const port = z.coerce.number('must be a number').int().min(0).max(65_535);
const durationMs = z.coerce.number('must be a number of milliseconds').int().min(0).max(60_000);
const timeoutMs = durationMs.min(10);
const count = (max: number) => z.coerce.number('must be a number').int().min(1).max(max);
const DAY_MS = 86_400_000;
const MIB = 1_024 * 1_024;
const spanMs = z.coerce.number('must be a number of milliseconds').int().min(10).max(DAY_MS);
const bytes = z.coerce.number('must be a number of bytes').int().max(Number.MAX_SAFE_INTEGER);

const address = z.string().transform((text, context) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:,/@]+)):(\d{1,5})$/.exec(text);
  const number = Number(match?.[3]);
  if (match && number >= 1 && number <= 65_535)
    return { host: (match[1] ?? match[2]) as string, port: number };
  context.addIssue({ code: 'custom', message: `"${text}" is not host:port` });
  return z.NEVER;
});
const addresses = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(address));

const redisUrl = z.string().refine((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^rediss?:$/.test(url.protocol) && url.hostname !== '';
}, 'must be redis://… or rediss://…');

const origins = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(z.string().refine(isOrigin, 'must be origins as browsers send them: https://example.com,…')));

const hostNames = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim().toLowerCase()))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          /^(?:\[[0-9a-f:.]+\]|[^\s:/@[\]]+)$/,
          'must be host names without a port: api.example.com,[::1]',
        ),
    ),
  );

const cachedTables = z.string().transform((text, context) => {
  try {
    return parseCachedTables(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

const environment = z
  .object({
    HOST: z.string().default('127.0.0.1'),
    PORT: port.default(3_000),
    LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    MORTISE_PREFIX: z.string().max(128).default(DEFAULT_PREFIX),
    REDIS_URL: redisUrl.optional(),
    REDIS_CLUSTER_NODES: addresses.optional(),
    REDIS_SENTINELS: addresses.optional(),
    REDIS_SENTINEL_NAME: z.string().optional(),
    REDIS_USERNAME: z.string().optional(),
    REDIS_PASSWORD: z.string().optional(),
    REDIS_TLS: z.stringbool('must be true or false').default(false),
    REDIS_COMMAND_TIMEOUT_MS: timeoutMs.default(750),
    REQUEST_DEADLINE_MS: timeoutMs.default(850),
    SHUTDOWN_DELAY_MS: durationMs.default(0),
    ALLOWED_ORIGINS: origins.optional(),
    ALLOWED_HOSTS: hostNames.optional(),
    MAX_STREAMS: count(100_000).default(1_000),
    STREAM_HEARTBEAT_MS: timeoutMs.default(15_000),
    STREAM_TIMEOUT_MS: timeoutMs.default(10_000),
    MAX_TRANSFERS: count(100_000).default(100),
    FILE_MAX_BYTES: bytes.min(0).default(2_048 * MIB),
    FILE_WINDOW_BYTES: bytes
      .min(MIB)
      .max(16_384 * MIB)
      .default(32 * MIB),
    FILE_BUDGET_BYTES: bytes.min(MIB).default(128 * MIB),
    FILE_TIMEOUT_MS: spanMs.default(30_000),
    FILE_RESUME_MS: spanMs.default(60_000),
    FILE_TTL_MS: z.coerce
      .number('must be a number of milliseconds')
      .int()
      .min(1_000)
      .max(365 * DAY_MS)
      .default(DAY_MS),
    CACHE_TABLES: cachedTables.default([]),
    BOOK_MAX_NAMES: count(10_000_000).default(1_000_000),
  })
  .superRefine((env, context) => {
    const refuse = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    const ways = (['REDIS_URL', 'REDIS_CLUSTER_NODES', 'REDIS_SENTINELS'] as const).filter(
      (name) => env[name],
    );
    if (ways.length > 1) refuse(ways.join(', '), 'only one of them may be set');
    if (Boolean(env.REDIS_SENTINELS) !== Boolean(env.REDIS_SENTINEL_NAME))
      refuse('REDIS_SENTINEL_NAME', 'goes together with REDIS_SENTINELS');
    if (env.FILE_BUDGET_BYTES < env.FILE_WINDOW_BYTES)
      refuse('FILE_BUDGET_BYTES', 'must be at least FILE_WINDOW_BYTES');
  });

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === text;
}

export type Config = z.infer<typeof environment>;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`the environment is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Reads the variables of the README's table; an empty one counts as not set. Throws ConfigError. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const { success, data, error } = environment.safeParse(
    Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
  );
  if (success) return data;
  throw new ConfigError(error.issues.map(({ path, message }) => `${path.slice(0, 1).join('')}: ${message}`));
}
