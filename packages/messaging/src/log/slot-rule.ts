/**
 * Whether keys of several entities may stand in one command. On Cluster they may not. Elsewhere they may, but for a single node
 * that enforces slots: it is a cluster of one, its client doesn't know, and it says so before it does anything.
 */
import type { RedisClient } from '@mortise/redis';

const rules = new WeakMap<RedisClient, SlotRule>();

export class SlotRule {
  #isEnforced: boolean;

  private constructor(client: RedisClient) {
    this.#isEnforced = client.isCluster;
  }

  /** The rule of a client: what one part learns, all know. */
  static of(client: RedisClient): SlotRule {
    let rule = rules.get(client);
    if (!rule) {
      rule = new SlotRule(client);
      rules.set(client, rule);
    }
    return rule;
  }

  /** Whether all keys of a command have to share a slot, as far as is known. */
  get isEnforced(): boolean {
    return this.#isEnforced;
  }

  /** Whether the server refused a command for its slots. That is remembered. */
  learn(error: unknown): boolean {
    const isRefused = error instanceof Error && error.message.startsWith('CROSSSLOT');
    if (isRefused) this.#isEnforced = true;
    return isRefused;
  }
}
