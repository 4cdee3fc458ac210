/** Receives the messages of one channel, and subscribes again after an interruption. */
import type { ErrorReporter, RedisClient, Wake } from '@mortise/redis';
import type { Service } from './service.js';
import { Loop, WaiterHub } from '@mortise/redis';

export class WakeUps implements Service {
  readonly #loop: Loop;

  /**
   * @param id Of this listener of the channel.
   * @param onWake Called with each message, and with undefined when the subscription begins. Must not throw.
   */
  constructor(
    redis: RedisClient,
    channel: string,
    id: string,
    reporter: ErrorReporter,
    onWake: (wake: Wake | undefined) => void,
  ) {
    const listen = async (signal: AbortSignal): Promise<number> => {
      const waiter = await WaiterHub.of(redis).waiter(channel, id, signal);
      try {
        onWake(undefined);
        for (;;) onWake(await waiter.next({ signal }));
      } finally {
        waiter.close();
      }
    };
    this.#loop = new Loop(`mortise channel ${channel}`, listen, {
      onError: (error) => reporter.reportRepeated(error),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }
}
