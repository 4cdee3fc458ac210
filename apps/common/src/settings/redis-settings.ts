/** Where Redis is, and how to log in: the same variables for every app. */
import { readFileSync } from 'node:fs';

import { z } from 'zod';

import type { Address } from './fields.js';
import { addresses, read, url } from './fields.js';

/** Names and passwords are those of Redis itself; Sentinels may have others. */
interface Login {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Whether the connection is encrypted. A URL `rediss://` says so by itself. */
  readonly hasTls: boolean;
  /** The certificates of the authorities that are trusted, PEM. Undefined: those of Node. */
  readonly ca?: string | undefined;
}

export type RedisPlace = Login &
  (
    | { readonly type: 'single'; readonly url: string }
    | { readonly type: 'cluster'; readonly nodes: readonly Address[] }
    | {
        readonly type: 'sentinel';
        readonly sentinels: readonly Address[];
        readonly name: string;
        readonly sentinelUsername?: string | undefined;
        readonly sentinelPassword?: string | undefined;
      }
  );

const DEFAULT_URL = 'redis://127.0.0.1:6379';

export const REDIS_FIELDS = {
  REDIS_URL: url('redis', 'rediss').optional(),
  REDIS_CLUSTER_NODES: addresses().optional(),
  REDIS_SENTINELS: addresses().optional(),
  REDIS_SENTINEL_NAME: z.string().optional(),
  REDIS_SENTINEL_USERNAME: z.string().optional(),
  REDIS_SENTINEL_PASSWORD: z.string().optional(),
  REDIS_USERNAME: z.string().optional(),
  REDIS_PASSWORD: z.string().optional(),
  REDIS_TLS: z.stringbool('must be true or false').default(false),
  REDIS_CA_FILE: read(certificates).optional(),
};

export type RedisSettings = z.output<z.ZodObject<typeof REDIS_FIELDS>>;

/** Refuses settings that exclude or need each other. */
export function refineRedis(env: RedisSettings, context: z.RefinementCtx): void {
  const refuse = (path: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [path], message });
  const ways = (['REDIS_URL', 'REDIS_CLUSTER_NODES', 'REDIS_SENTINELS'] as const).filter((name) => env[name]);
  if (ways.length > 1) refuse(ways.join(', '), 'only one of these may be set');
  if ((env.REDIS_SENTINELS === undefined) !== (env.REDIS_SENTINEL_NAME === undefined))
    refuse('REDIS_SENTINELS, REDIS_SENTINEL_NAME', 'one needs the other');
  const isOfSentinel = env.REDIS_SENTINEL_USERNAME ?? env.REDIS_SENTINEL_PASSWORD;
  if (isOfSentinel !== undefined && !env.REDIS_SENTINELS)
    refuse('REDIS_SENTINEL_USERNAME, REDIS_SENTINEL_PASSWORD', 'they need REDIS_SENTINELS');
  const hasTls = env.REDIS_TLS || env.REDIS_URL?.startsWith('rediss:');
  if (env.REDIS_CA_FILE !== undefined && !hasTls) refuse('REDIS_CA_FILE', 'it needs REDIS_TLS or rediss://');
}

export function redisPlaceOf(env: RedisSettings): RedisPlace {
  const { REDIS_SENTINELS: sentinels, REDIS_SENTINEL_NAME: name, REDIS_CLUSTER_NODES: nodes } = env;
  const login = {
    username: env.REDIS_USERNAME,
    password: env.REDIS_PASSWORD,
    hasTls: env.REDIS_TLS,
    ca: env.REDIS_CA_FILE,
  };
  if (nodes) return { type: 'cluster', nodes, ...login };
  if (sentinels && name !== undefined) {
    const { REDIS_SENTINEL_USERNAME: sentinelUsername, REDIS_SENTINEL_PASSWORD: sentinelPassword } = env;
    return { type: 'sentinel', sentinels, name, sentinelUsername, sentinelPassword, ...login };
  }
  return { type: 'single', url: env.REDIS_URL ?? DEFAULT_URL, ...login };
}

function certificates(file: string): string {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new Error('the file cannot be read');
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('the file has no certificate (PEM)');
  return text;
}
