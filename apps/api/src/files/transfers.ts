/**
 * The uploads and downloads that are under way. Each holds chunks of a file in this process until it ends, so their number is limited. They end with
 * the server.
 */
import type { OnModuleDestroy } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG } from '../tokens.js';

/** For the DeadlineInterceptor: a transfer has no deadline, and ends when it stalls. Nearly the longest delay of a timer. */
export const NO_DEADLINE_MS = 2 ** 31 - 1 - 120_000;

@Injectable()
export class Transfers implements OnModuleDestroy {
  readonly #open = new Set<AbortController>();
  readonly #most: number;
  #isEnding = false;

  constructor(@Inject(CONFIG) { MAX_TRANSFERS }: Config) {
    this.#most = MAX_TRANSFERS;
  }

  /** The number of transfers that are under way. */
  get size(): number {
    return this.#open.size;
  }

  /** The controller ends the transfer, with a problem as its reason. The caller closes it. Throws the problems `shutting-down` and `too-many-transfers`. */
  open(): AbortController {
    if (this.#isEnding) throw new Problem('shutting-down');
    if (this.#open.size >= this.#most)
      throw new Problem('too-many-transfers', undefined, { limit: this.#most });
    const transfer = new AbortController();
    this.#open.add(transfer);
    return transfer;
  }

  close(transfer: AbortController): void {
    this.#open.delete(transfer);
  }

  /** Runs before the server stops answering. */
  onModuleDestroy(): void {
    this.#isEnding = true;
    for (const transfer of this.#open) transfer.abort(new Problem('shutting-down'));
  }
}
