import { connect } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

/**
 * Makes a connection lose the first reply to each command and send the command again at once, as ioredis does after a lost
 * connection. Its callers get the second reply.
 *
 * @param between Runs between the two executions of a script.
 */
export function resending(redis: Redis = connect(), between?: () => Promise<unknown>): Redis {
  const call = redis.call.bind(redis) as (...command: unknown[]) => Promise<unknown>;
  redis.call = async (...command: unknown[]) => {
    await call(...command);
    if (String(command[0]).startsWith('eval')) await between?.();
    return call(...command);
  };
  return redis;
}
