/**
 * Bulk operations of each tenant. One runs in the process that was asked for it, since a worker of the deployment does not serve the
 * other tenants.
 */
import type { RedisClient } from '@mortise/redis';
import type { BulkOperation, BulkRequest } from '@mortise/queues/admin';
import { BulkOperations } from '@mortise/queues/admin';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { MAX_TENANTS } from '../tenants/per-tenant.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';
import { OpenQueues } from './open-queues.js';

@Injectable()
export class Operations implements BeforeApplicationShutdown {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #log: Logger;
  /** By tenant: how many operations of it may run is counted there. */
  readonly #tenants = new Map<string, BulkOperations>();

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
    @Inject(LOG) log: Logger,
    private readonly queues: OpenQueues,
  ) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#log = log;
  }

  /**
   * Starts an operation, or returns the one of this id. Throws the problems `unknown-queue`, `too-many-operations` and `run-at-past`,
   * ERR_INVALID_ARG for a priority that the queue doesn't have, and ERR_OPERATION_CONFLICT when the id belongs to another operation.
   */
  async start(queueName: string, id: string | undefined, request: BulkRequest): Promise<BulkOperation> {
    return this.queues.use(queueName, (queue) => this.#current.start(queue, request, { id }));
  }

  /** One round trip. */
  async find(id: string): Promise<BulkOperation | null> {
    return this.#current.get(id);
  }

  /** How far it is now, and each change until it has ended or the signal. */
  follow(id: string, signal: AbortSignal): AsyncIterable<BulkOperation> {
    return this.#current.follow(id, { signal });
  }

  /** Before the client is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#tenants.values()].map((operations) => operations.stop()));
  }

  get #current(): BulkOperations {
    const tenant = currentTenant();
    const kept = this.#tenants.get(tenant);
    if (kept) return kept;
    // Those of tenants that were removed.
    if (this.#tenants.size > MAX_TENANTS)
      for (const [name, { running }] of this.#tenants) if (running === 0) this.#tenants.delete(name);
    const operations = new BulkOperations(this.#redis, {
      prefix: prefixOf(this.#prefix, tenant),
      onError: (err) => this.#log.warn({ err, tenant }, 'an operation on tasks has failed'),
    });
    this.#tenants.set(tenant, operations);
    return operations;
  }
}
