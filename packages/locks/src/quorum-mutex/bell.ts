import type { Waiter } from '@mortise/redis';
import { majorityOf } from './ballot.js';
import type { QuorumNode } from './quorum-node.js';

/** Listens on all nodes for votes that are given back. A node that can't be subscribed to is left out until it can. */
export class Bell {
  /** Resolves when a majority of the nodes is heard, or can't be. It may take long: limit the wait. */
  readonly opened: Promise<void>;
  readonly #seats = new Set<Waiter>();
  #isClosed = false;
  #isRung = false;
  #wake: (() => void) | undefined;

  constructor(nodes: readonly QuorumNode[], channel: string, id: string) {
    this.opened = new Promise((resolve) => {
      let settled = 0;
      for (const node of nodes) {
        const settle = (): void => {
          settled += 1;
          if (settled === majorityOf(nodes.length)) resolve();
        };
        void this.#attend(node.waiter(channel, id), settle);
      }
    });
  }

  /** Resolves at the next ring, or one since the last `hush`; after `ms` at the latest. */
  heard(ms: number): Promise<void> {
    if (this.#isRung || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), ms);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** Forgets the rings until now. */
  hush(): void {
    this.#isRung = false;
  }

  close(): void {
    this.#isClosed = true;
    for (const seat of this.#seats) seat.close();
    this.#wake?.();
  }

  async #attend(seated: Promise<Waiter>, settle: () => void): Promise<void> {
    try {
      const seat = await seated;
      this.#seats.add(seat);
      if (this.#isClosed) seat.close();
      settle();
      while (!this.#isClosed) {
        await seat.next();
        this.#ring();
      }
    } catch {
      // A node that is down, or a client that was closed: whoever waits looks again.
      settle();
      this.#ring();
    }
  }

  #ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }
}
