import type { Waiter } from '@mortise/redis';
import { WakeUp } from '@mortise/redis';
import { majorityOf } from './count-votes.js';
import type { QuorumNode } from './quorum-node.js';

/** Listens on all nodes for votes that are given back. Skips nodes whose subscription fails. */
export class ReleaseListener {
  /** Resolves when the subscriptions of a majority of the nodes are open or have failed. It may take long: limit the wait. */
  readonly opened: Promise<void>;
  readonly #inboxes = new Set<Waiter>();
  readonly #release = new WakeUp();
  #isClosed = false;

  constructor(nodes: readonly QuorumNode[], channel: string, id: string) {
    this.opened = new Promise((resolve) => {
      let ready = 0;
      for (const node of nodes) {
        void this.#listen(node.waiter(channel, id), () => {
          ready += 1;
          if (ready === majorityOf(nodes.length)) resolve();
        });
      }
    });
  }

  /** Resolves at the next release, or at once if there was one since the last `reset`; after `ms` at the latest. */
  async nextRelease(ms: number): Promise<void> {
    await this.#release.wait(ms);
  }

  /** Forgets the releases until now. */
  reset(): void {
    this.#release.reset();
  }

  close(): void {
    this.#isClosed = true;
    for (const inbox of this.#inboxes) inbox.close();
    this.#release.close();
  }

  async #listen(opening: Promise<Waiter>, onReady: () => void): Promise<void> {
    try {
      const inbox = await opening;
      this.#inboxes.add(inbox);
      if (this.#isClosed) inbox.close();
      onReady();
      while (!this.#isClosed) {
        await inbox.next();
        this.#release.wake();
      }
    } catch {
      // The node is down or its client was closed: the waiter requests votes again anyway.
      onReady();
      this.#release.wake();
    }
  }
}
