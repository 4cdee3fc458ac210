/**
 * The requests that wait for a lock or for tasks. A wait ends when its answer is no longer needed: the client closed the
 * connection or its side of it, the deadline has answered, or the server shuts down.
 */
import type { OnModuleDestroy } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Quotas } from './quotas.js';
import { Problem } from '../problems/problem.js';
import { currentTenant } from '../tenants/tenancy.js';

/** Each holds a connection here, and a place in a queue in Redis. */
export const MAX_WAITS = 1_000;

@Injectable()
export class OpenWaits implements OnModuleDestroy {
  /** By tenant. */
  readonly #open = new Map<AbortController, string>();
  #isEnding = false;

  constructor(private readonly quotas: Quotas) {}

  get size(): number {
    return this.#open.size;
  }

  /**
   * Runs `work` with the signal that ends it. Throws the problems `shutting-down` and, if it would wait, `too-many-waits` and `quota-exceeded`;
   * the reason of the signal is a problem as well.
   */
  async run<T>(reply: FastifyReply, waitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isEnding) throw new Problem('shutting-down');
    if (waitMs > 0 && this.#open.size >= MAX_WAITS) {
      throw new Problem('too-many-waits', undefined, { limit: MAX_WAITS });
    }
    const tenant = currentTenant();
    const controller = new AbortController();
    // A client that only closed its own side still reads this. But most such clients are gone, and would lose a lock
    // granted to them.
    const leave = (): void =>
      controller.abort(new Problem('lock-timeout', 'the client closed the connection'));
    const { socket } = reply.request.raw;
    if (socket.readableEnded || socket.destroyed) leave();
    socket.once('end', leave);
    reply.raw.once('close', leave);
    this.#open.set(controller, tenant);
    try {
      // It counts itself already.
      if (waitMs > 0) await this.quotas.require('waits', () => count(this.#open.values(), tenant), 0);
      return await work(controller.signal);
    } finally {
      this.#open.delete(controller);
      socket.off('end', leave);
      reply.raw.off('close', leave);
    }
  }

  /** Runs before the server stops answering. */
  onModuleDestroy(): void {
    this.#isEnding = true;
    for (const controller of this.#open.keys()) controller.abort(new Problem('shutting-down'));
  }
}

function count(tenants: Iterable<string>, tenant: string): number {
  return [...tenants].filter((each) => each === tenant).length;
}
