import { jest } from '@jest/globals';
import type { RedisClient } from '@mortise/redis';
import { WaiterHub } from '@mortise/redis';

/** The channels of listeners of this client that have stopped since this call. */
export function stoppedChannels(redis: RedisClient): string[] {
  const hub = WaiterHub.of(redis);
  const listen = hub.listen.bind(hub);
  const stopped: string[] = [];
  jest.spyOn(hub, 'listen').mockImplementation(async (channel, listener) => {
    const stop = await listen(channel, listener);
    return () => {
      stopped.push(channel);
      stop();
    };
  });
  return stopped;
}
