import type { Redis } from 'ioredis';
import type { QueueKeys } from '../src/keys.js';
import { encodeTaskId } from '../src/task/task-id.js';

/** As if the task had been enqueued so much earlier. */
export async function age(redis: Redis, { of }: QueueKeys, id: string, ms: number): Promise<void> {
  const storedId = encodeTaskId(id);
  const record = (await redis.hgetBuffer(of.tasks, storedId))!;
  record.writeDoubleBE(record.readDoubleBE(3) - ms, 3);
  await redis.hset(of.tasks, storedId, record);
}

/** As if the task had ended so much earlier. */
export async function ageEnd(redis: Redis, { of }: QueueKeys, id: string, ms: number): Promise<void> {
  const storedId = encodeTaskId(id);
  const last = await redis.hgetBuffer(of.attempts, storedId);
  if (!last) {
    // Its record is sealed, and says how long after that it succeeded.
    const record = (await redis.hgetBuffer(of.tasks, storedId))!;
    record.writeDoubleBE(record.readDoubleBE(8) - ms, 8);
    await redis.hset(of.tasks, storedId, record);
    return;
  }
  const endedAt = last.readDoubleBE(1) - ms;
  last.writeDoubleBE(endedAt, 1);
  await redis.hset(of.attempts, storedId, last);
  for (const key of [of.dead, of.cancelled]) await redis.zadd(key, 'XX', endedAt, storedId);
}
