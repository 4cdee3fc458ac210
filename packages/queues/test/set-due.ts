import type { Redis } from 'ioredis';
import type { QueueKeys } from '../src/keys.js';

/** As if the schedule had been due at this instant and no worker had come. */
export async function setDue(redis: Redis, { of }: QueueKeys, key: string, dueAt: number): Promise<void> {
  const stored = (await redis.hgetBuffer(of.schedules, key))!;
  stored.writeDoubleBE(dueAt, 0);
  await redis.hset(of.schedules, key, stored);
  await redis.zadd(of.dueSchedules, dueAt, key);
}

/** The time of the server, ms. */
export async function serverNow(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

const SINCE_AT = 13;

/** As if the children that are still to be stored had been tried for a minute. */
export async function endRetries(redis: Redis, { of }: QueueKeys): Promise<void> {
  for (const field of await redis.hkeysBuffer(of.outbox)) {
    if (field.toString('latin1', 0, 1) !== 'e') continue;
    const stored = (await redis.hgetBuffer(of.outbox, field))!;
    stored.writeDoubleBE(1, 0);
    stored.writeDoubleBE(1, SINCE_AT);
    await redis.hset(of.outbox, field, stored);
  }
}

/** As if the time in which the producers of flows store the children themselves were over. */
export async function endGrace(redis: Redis, { of }: QueueKeys): Promise<void> {
  for (const field of await redis.hkeysBuffer(of.outbox)) {
    if (field.toString('latin1', 0, 1) !== 'e') continue;
    const stored = (await redis.hgetBuffer(of.outbox, field))!;
    stored.writeDoubleBE(1, 0);
    await redis.hset(of.outbox, field, stored);
  }
}
