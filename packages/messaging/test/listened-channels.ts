import { jest } from '@jest/globals';
import type { RedisClient } from '@mortise/redis';
import { WaiterHub } from '@mortise/redis';

/** The channels of listeners of this client that have been confirmed, and that have stopped, since this call. */
export function listenedChannels(redis: RedisClient): { confirmed: string[]; stopped: string[] } {
  const hub = WaiterHub.of(redis);
  const listen = hub.listen.bind(hub);
  const confirmed: string[] = [];
  const stopped: string[] = [];
  jest.spyOn(hub, 'listen').mockImplementation(async (channel, listener) => {
    const stop = await listen(channel, listener);
    confirmed.push(channel);
    return () => {
      stopped.push(channel);
      stop();
    };
  });
  return { confirmed, stopped };
}
