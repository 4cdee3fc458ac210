import type { Waiter } from '@mortise/redis';
import { majorityOf } from './count-votes.js';
import type { QuorumNode } from './quorum-node.js';

/** Listens on all nodes for votes that are given back. Skips nodes whose subscription fails. */
export class ReleaseListener {
  /** Resolves when the subscriptions of a majority of the nodes are open or have failed. It may take long: limit the wait. */
  readonly opened: Promise<void>;
  readonly #inboxes = new Set<Waiter>();
  #isClosed = false;
  #hasHeard = false;
  #wake: (() => void) | undefined;

  constructor(nodes: readonly QuorumNode[], channel: string, id: string) {
    this.opened = new Promise((resolve) => {
      let settled = 0;
      for (const node of nodes) {
        const settle = (): void => {
          settled += 1;
          if (settled === majorityOf(nodes.length)) resolve();
        };
        void this.#listen(node.waiter(channel, id), settle);
      }
    });
  }

  /** Resolves at the next release, or at once if there was one since the last `reset`; after `ms` at the latest. */
  nextRelease(ms: number): Promise<void> {
    if (this.#hasHeard || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), ms);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** Forgets the releases until now. */
  reset(): void {
    this.#hasHeard = false;
  }

  close(): void {
    this.#isClosed = true;
    for (const inbox of this.#inboxes) inbox.close();
    this.#wake?.();
  }

  async #listen(opening: Promise<Waiter>, settle: () => void): Promise<void> {
    try {
      const inbox = await opening;
      this.#inboxes.add(inbox);
      if (this.#isClosed) inbox.close();
      settle();
      while (!this.#isClosed) {
        await inbox.next();
        this.#onMessage();
      }
    } catch {
      // The node is down or its client was closed: the waiter requests votes again anyway.
      settle();
      this.#onMessage();
    }
  }

  #onMessage(): void {
    this.#hasHeard = true;
    this.#wake?.();
  }
}
