import { Redis } from 'ioredis';

const shared = new Map<string, Redis>();

/** The connection that all callers of this process share. */
export function sharedConnection(url: string): Redis {
  let redis = shared.get(url);
  if (!redis) {
    redis = new Redis(url);
    // It is ended, and connects again, where memory is measured.
    redis.on('error', () => undefined);
    shared.set(url, redis);
  }
  return redis;
}

/** Sends commands in pipelines of so many, one after the other. */
export async function inPipelines(
  redis: Redis,
  commands: Iterable<readonly [command: string, ...args: (string | number)[]]>,
  most = 2_000,
): Promise<void> {
  let pipeline = redis.pipeline();
  for (const [command, ...args] of commands) {
    pipeline.call(command, ...args);
    if (pipeline.length < most) continue;
    await pipeline.exec();
    pipeline = redis.pipeline();
  }
  if (pipeline.length > 0) await pipeline.exec();
}
