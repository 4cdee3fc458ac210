/** The common part of queues, workers and readers of events: a name, a client, and the events of an emitter. */
import type { RedisClient } from '@mortise/redis';
import { EventEmitter } from 'node:events';
import type { Connection } from './connection.js';
import { connect, disconnect } from './connection.js';
import type { EndByHand, JobHost, JobLike, NextJob } from './host.js';
import { storeOfKey, storeOfQueue } from './host.js';
import { claimNext, endByHand } from './by-hand.js';
import type { Store } from './store.js';
import { storeOf } from './store.js';
import type { QueueBaseOptions } from './types.js';

const DEFAULT_PREFIX = 'bull';
const DEFAULT_LEASE_MS = 30_000;

export class QueueBase extends EventEmitter implements JobHost {
  readonly store: Store;
  closing: Promise<void> | undefined;
  closed = false;
  protected readonly connection: Connection;

  constructor(
    readonly name: string,
    public opts: QueueBaseOptions = {},
  ) {
    super();
    if (!name) throw new Error('Queue name must be provided');
    if (name.includes(':')) throw new Error('Queue name cannot contain :');
    this.connection = connect(opts.connection, (error) => this.report(error));
    this.store = storeOf(this.redis, opts.prefix ?? DEFAULT_PREFIX, name);
  }

  protected get redis(): RedisClient {
    return this.connection.redis;
  }

  get qualifiedName(): string {
    return this.store.qualifiedName;
  }

  toKey(type: string): string {
    return `${this.qualifiedName}:${type}`;
  }

  /** Without a listener an `error` event would end the process. */
  protected report(error: Error): void {
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  /** Emits an event. As in BullMQ, an error of a listener becomes an `error` event. */
  override emit(event: string, ...args: unknown[]): boolean {
    try {
      return super.emit(event, ...args);
    } catch (error) {
      if (event === 'error') return false;
      if (this.listenerCount('error') > 0) return super.emit('error', error);
      console.error(error);
      return false;
    }
  }

  storeOfKey(key: string): { store: Store; id: string } {
    return storeOfKey(this.store, key);
  }

  storeOfQueue(qualifiedName: string): Store {
    return storeOfQueue(this.store, qualifiedName);
  }

  async waitUntilReady(): Promise<void> {
    await this.store.ready();
  }

  endByHand(job: JobLike, token: string, end: EndByHand): Promise<number> {
    return endByHand(job, token, end);
  }

  async nextByHand(token: string, fetchNext: boolean): Promise<NextJob> {
    const next = fetchNext && !this.closing ? await claimNext(this, token, DEFAULT_LEASE_MS, 0) : undefined;
    return next ? [next.asJSON(), next.id!, 0, 0] : [];
  }

  async close(): Promise<void> {
    this.closing ??= this.end();
    await this.closing;
  }

  async disconnect(): Promise<void> {
    await this.close();
  }

  protected async end(): Promise<void> {
    await disconnect(this.connection);
    this.closed = true;
  }
}
