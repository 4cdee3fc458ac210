/** `npm run doctor`: examines the Redis of the environment. Exit code 1 when something must be changed. */
import process from 'node:process';

import { DEFAULT_PREFIX } from '@mortise/redis';
import { z } from 'zod';

import { connectRedis } from '../redis/index.js';
import { readSettings, REDIS_FIELDS, redisPlaceOf, refineRedis, SettingsError } from '../settings/index.js';
import type { Finding } from './examine.js';
import { examine } from './examine.js';

const CONNECT_MS = 5_000;
const SIGNS = { ok: 'ok      ', advice: 'advice  ', problem: 'PROBLEM ' } as const;

const Environment = z
  .object({ ...REDIS_FIELDS, MORTISE_PREFIX: z.string().default(DEFAULT_PREFIX) })
  .superRefine(refineRedis);

async function main(): Promise<number> {
  const env = readSettings(Environment, process.env);
  const redis = connectRedis(redisPlaceOf(env), {
    redis: { connectTimeout: CONNECT_MS, maxRetriesPerRequest: 0, retryStrategy: () => null },
    cluster: { clusterRetryStrategy: () => null, slotsRefreshTimeout: CONNECT_MS },
    sentinelPauseMs: () => CONNECT_MS,
  });
  let lastError: Error | undefined;
  redis.on('error', (error: Error) => {
    lastError = error;
  });
  try {
    await redis.ping();
    const findings = await examine(redis, env.MORTISE_PREFIX);
    for (const finding of findings) console.log(lineOf(finding));
    return findings.some(({ level }) => level === 'problem') ? 1 : 0;
  } catch (error) {
    const { message } = lastError ?? (error as Error);
    const action =
      'Check REDIS_URL, REDIS_CLUSTER_NODES or REDIS_SENTINELS, the user, the password and the network';
    console.log(lineOf({ level: 'problem', subject: 'connection', found: message, action }));
    return 1;
  } finally {
    redis.disconnect();
  }
}

function lineOf({ level, subject, found, action }: Finding): string {
  return `${SIGNS[level]}${subject}: ${found}${action === undefined ? '' : `\n          → ${action}.`}`;
}

try {
  process.exitCode = await main();
} catch (error) {
  // Not the error itself: that of a refused command has its arguments.
  console.error(error instanceof SettingsError ? error.message : (error as Error).stack);
  process.exitCode = 1;
}
