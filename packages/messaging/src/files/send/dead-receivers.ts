/**
 * Receivers without a lease that hold a sender up: they never came, or their process died. A restarted process may acquire
 * its lease again shortly after it ended, so there is a grace period, by the clock of the waiting process.
 */
import { callRedis } from '@mortise/redis';
import { ChannelRefusedError } from '../errors.js';
import type { FilesContext } from '../context.js';
import type { FileSenderLimits } from '../options.js';
import type { Completion } from '../completion.js';
import { receiversOf } from '../receivers.js';

export class DeadReceivers {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #completion: Completion;
  readonly #missingSince = new Map<string, number>();

  constructor(context: FilesContext, limits: FileSenderLimits, completion: Completion) {
    this.#context = context;
    this.#limits = limits;
    this.#completion = completion;
  }

  /**
   * Applies the policy to dead receivers that the channel's files wait for. Also completes steps that other processes have
   * left unfinished. Three round trips, and three for each file. Throws ERR_RECEIVER_DEAD.
   */
  async check(): Promise<void> {
    const { redis, channel, channelKeys } = this.#context;
    const [numbers, epoch] = (await Promise.all([
      callRedis(redis, 'hkeys', [channelKeys.listed]),
      callRedis(redis, 'hget', [channelKeys.head, 'epoch']),
    ])) as [string[], string | null];
    const dead = this.#limits.deadReceivers === 'wait' ? [] : await this.#dead();
    if (dead.length > 0 && this.#limits.deadReceivers === 'fail') {
      throw new ChannelRefusedError('ERR_RECEIVER_DEAD', channel, { receivers: dead });
    }
    for (const number of numbers) {
      await this.#completion.finish({ number: Number(number), epoch: epoch ?? '' }, dead, '');
    }
  }

  async #dead(): Promise<string[]> {
    const receivers = await receiversOf(this.#context);
    const now = performance.now();
    const dead: string[] = [];
    for (const { receiver, isActive } of receivers) {
      if (isActive) this.#missingSince.delete(receiver);
      else {
        const since = this.#missingSince.get(receiver) ?? now;
        this.#missingSince.set(receiver, since);
        if (now - since >= this.#limits.graceMs) dead.push(receiver);
      }
    }
    return dead;
  }
}
