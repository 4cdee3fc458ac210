/**
 * Receivers that hold a sender up and have no lease: they never came, or their process died. A restarted process may take a lease again that
 * has just ended, so there is a time of grace, on the clock of the process that waits.
 */
import { decodeName } from '@mortise/redis';
import { ChannelRefusedError } from '../errors.js';
import type { FilesContext } from '../context.js';
import type { FileSenderLimits } from '../options.js';
import type { Completion } from '../completion.js';

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
   * Looks for dead receivers that the files of the channel wait for, and does what the policy says. Also completes the steps that other
   * processes have left half done. Three round trips, and three for each file. Throws ERR_RECEIVER_DEAD.
   */
  async check(): Promise<void> {
    const { redis, channel, channelKeys } = this.#context;
    const [numbers, epoch] = (await Promise.all([
      redis.call('hkeys', [channelKeys.listed]),
      redis.call('hget', [channelKeys.head, 'epoch']),
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
    const { redis, channelKeys } = this.#context;
    const [[seconds], leases] = (await Promise.all([
      redis.call('time', []),
      redis.call('zrange', [channelKeys.receivers, 0, -1, 'WITHSCORES']),
    ])) as [[string], (string | [string, string])[]];
    const flat = leases.flat();
    const now = performance.now();
    const dead: string[] = [];
    for (let index = 0; index < flat.length; index += 2) {
      const name = decodeName(flat[index]!);
      if (Number(flat[index + 1]) > Number(seconds) * 1_000) this.#missingSince.delete(name);
      else {
        const since = this.#missingSince.get(name) ?? now;
        this.#missingSince.set(name, since);
        if (now - since >= this.#limits.graceMs) dead.push(name);
      }
    }
    return dead;
  }
}
