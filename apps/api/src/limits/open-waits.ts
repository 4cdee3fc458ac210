/**
 * The requests that wait for a lock or for tasks. A wait ends when its answer is no longer needed: the client closed the
 * connection or its side of it, the deadline has answered, or the server shuts down. It also ends when its credential does.
 */
import type { OnModuleDestroy } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { isStillAllowed, RECHECK_MS } from '../callers/recheck.js';
import { accessOf } from '../callers/route-scopes.js';
import { Quotas } from './quotas.js';
import { Problem } from '../problems/problem.js';
import { currentTenant } from '../tenants/tenancy.js';

/** Each holds a connection here, and a place in a queue in Redis. */
export const MAX_WAITS = 1_000;

@Injectable()
export class OpenWaits implements OnModuleDestroy {
  readonly #open = new Map<AbortController, { readonly tenant: string; readonly request: FastifyRequest }>();
  #rechecks: NodeJS.Timeout | undefined;
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
    this.#open.set(controller, { tenant, request: reply.request });
    this.#rechecks ??= setInterval(() => void this.#recheck(), RECHECK_MS);
    try {
      // It counts itself already.
      if (waitMs > 0) await this.quotas.require('waits', () => this.#countOf(tenant), 0);
      return await work(controller.signal);
    } finally {
      this.#open.delete(controller);
      if (this.#open.size === 0) {
        clearInterval(this.#rechecks);
        this.#rechecks = undefined;
      }
      socket.off('end', leave);
      reply.raw.off('close', leave);
    }
  }

  /** Runs before the server stops answering. */
  onModuleDestroy(): void {
    this.#isEnding = true;
    for (const controller of this.#open.keys()) controller.abort(new Problem('shutting-down'));
  }

  #countOf(tenant: string): number {
    return [...this.#open.values()].filter((wait) => wait.tenant === tenant).length;
  }

  async #recheck(): Promise<void> {
    await Promise.all(
      Array.from(this.#open, async ([controller, { request }]) => {
        const { principal, method, routeOptions } = request;
        if (principal && !(await isStillAllowed(principal, [accessOf(method, routeOptions.url!)])))
          controller.abort(new Problem('unauthenticated', 'the credential is no longer valid'));
      }),
    );
  }
}
