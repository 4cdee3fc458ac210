/**
 * Whether one command may name keys of several slots. On Cluster it may not. Elsewhere it may, except on a single node that
 * enforces slots. Its client doesn't know that, and the server refuses the first such command before it does anything.
 */
import type { RedisClient } from '@mortise/redis';
import { perClient } from '@mortise/redis';

export class SlotRule {
  /** The rule of a client, shared by all that use it. */
  static readonly of = /* @__PURE__ */ perClient((client) => new SlotRule(client));
  #isEnforced: boolean;

  private constructor(client: RedisClient) {
    this.#isEnforced = client.isCluster;
  }

  /** Whether this process knows that all keys of a command must share a slot. */
  get isEnforced(): boolean {
    return this.#isEnforced;
  }

  /** Whether the server refused a command because of its slots; remembers that. */
  learn(error: unknown): boolean {
    const isRefused = error instanceof Error && error.message.startsWith('CROSSSLOT');
    if (isRefused) this.#isEnforced = true;
    return isRefused;
  }
}
