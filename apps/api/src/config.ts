/** The environment, read once at boot. With wrong settings the program reports all of them, and doesn't start. */
import { LOG_LEVELS } from '@mortise/app-common/log';
import {
  port,
  read,
  readSettings,
  REDIS_FIELDS,
  refineRedis,
  TRACING_FIELDS,
  wholeNumber,
} from '@mortise/app-common/settings';
import { DEFAULT_PREFIX } from '@mortise/redis';
import { z } from 'zod';

import { parseApiKey } from './api-key.js';
import { requireRate } from './rate.js';
import { parseCachedTables } from './cached-tables.js';

const DAY_MS = 86_400_000;
const MIB = 1_024 * 1_024;
const MAX_DURATION_MS = 60_000;
const durationMs = () => wholeNumber(0, MAX_DURATION_MS);
const timeoutMs = () => wholeNumber(10, MAX_DURATION_MS);
const count = (max: number) => wholeNumber(1, max);
const spanMs = () => wholeNumber(10, DAY_MS);

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

/** Of members of JSON values. */
const names = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(z.string().min(1).max(128)));

/** The secret is not kept, only its hash. */
const adminKey = z.string().transform((text, context) => {
  const parsed = parseApiKey(text);
  if (parsed) return parsed;
  context.addIssue({
    code: 'custom',
    message:
      'must be mk_<id>_<secret>: an id of 1 to 32 of A-Z a-z 0-9 -, a secret of 22 to 128 of A-Z a-z 0-9 _ -',
  });
  return z.NEVER;
});

const rate = read(requireRate);

/** Keys that came over a plain connection could be anybody's. */
const jwksUrl = z
  .string()
  .refine(isKeySetUrl, 'must be a URL that begins with https://, or http:// of a loopback host')
  .transform((text) => new URL(text));

const environment = z
  .object({
    HOST: z.string().default('127.0.0.1'),
    PORT: port().default(3_000),
    LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
    MORTISE_PREFIX: z.string().max(128).default(DEFAULT_PREFIX),
    ...REDIS_FIELDS,
    REDIS_COMMAND_TIMEOUT_MS: timeoutMs().default(750),
    REQUEST_DEADLINE_MS: timeoutMs().default(850),
    SHUTDOWN_DELAY_MS: durationMs().default(0),
    ALLOWED_ORIGINS: origins.optional(),
    ALLOWED_HOSTS: hostNames.optional(),
    MAX_STREAMS: count(100_000).default(1_000),
    STREAM_HEARTBEAT_MS: timeoutMs().default(15_000),
    STREAM_TIMEOUT_MS: timeoutMs().default(10_000),
    MAX_TRANSFERS: count(100_000).default(100),
    FILE_MAX_BYTES: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(2_048 * MIB),
    FILE_WINDOW_BYTES: wholeNumber(MIB, 16_384 * MIB).default(32 * MIB),
    FILE_BUDGET_BYTES: wholeNumber(MIB, Number.MAX_SAFE_INTEGER).default(128 * MIB),
    FILE_TIMEOUT_MS: spanMs().default(30_000),
    FILE_RESUME_MS: spanMs().default(60_000),
    FILE_TTL_MS: wholeNumber(1_000, 365 * DAY_MS).default(DAY_MS),
    CACHE_TABLES: read(parseCachedTables).default([]),
    BOOK_MAX_NAMES: count(10_000_000).default(1_000_000),
    METRICS_PORT: port().optional(),
    METRICS_HOST: z.string().default('127.0.0.1'),
    DOCS: z.enum(['on', 'scoped', 'off'], 'must be on, scoped or off').default('on'),
    CONSOLE: z.enum(['off', 'read-only', 'on'], 'must be off, read-only or on').default('off'),
    HSTS_MAX_AGE_S: wholeNumber(0, 63_072_000).default(0),
    MAX_CONNECTIONS: count(1_000_000).default(10_000),
    AUTH: z.enum(['keys', 'off', 'off-everywhere']).default('keys'),
    ADMIN_KEY: adminKey.optional(),
    JWT_JWKS_URL: jwksUrl.optional(),
    JWT_ISSUER: z.string().optional(),
    JWT_AUDIENCE: z.string().optional(),
    KEY_LIMIT: rate.optional(),
    TENANT_LIMIT: rate.optional(),
    QUOTA_COUNT_MS: spanMs().default(10_000),
    REDACT: names.default(['password', 'secret', 'token', 'authorization', 'apiKey', 'creditCard']),
    SESSION_TTL_MS: wholeNumber(60_000, 30 * DAY_MS).default(DAY_MS / 2),
    NODE_ENV: z.string().optional(),
    ...TRACING_FIELDS,
  })
  .superRefine((env, context) => {
    const refuse = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    refineRedis(env, context);
    if (env.AUTH === 'off' && isForProduction(env))
      refuse(
        'AUTH',
        'off is for a loopback HOST outside of production; off-everywhere lets everybody on the network do everything',
      );
    const issuer = ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'] as const;
    const given = issuer.filter((name) => env[name] !== undefined);
    if (given.length > 0 && given.length < issuer.length) refuse(issuer.join(', '), 'each needs the others');
    if (isForProduction(env) && env.AUTH === 'keys' && !env.ADMIN_KEY && !env.JWT_JWKS_URL)
      refuse('ADMIN_KEY', 'is missing: without it or JWT_JWKS_URL nobody can make the first API key');
    if (env.FILE_BUDGET_BYTES < env.FILE_WINDOW_BYTES)
      refuse('FILE_BUDGET_BYTES', 'must be at least FILE_WINDOW_BYTES');
  });

/** Whether others can reach the API, or the environment says so. */
export function isForProduction({ HOST, NODE_ENV }: Pick<Config, 'HOST' | 'NODE_ENV'>): boolean {
  return NODE_ENV === 'production' || !isLoopback(HOST);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function isKeySetUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
}

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === text;
}

export type Config = z.infer<typeof environment>;

/** Reads the variables of docs/service/reference/api-settings.md; an empty one counts as not set. Throws SettingsError. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return readSettings(environment, env);
}
