/** A cluster client, as packages see it, of one node that has all slots. */
import { EventEmitter } from 'node:events';
import type { CommandArgument, RedisClient } from '@mortise/redis';
import type { Connection } from './connection.js';

const SLOTS = 16_384;
const HOST = 'node';
const PORT = 1;
const OWNERS: readonly (readonly string[])[] = Array.from({ length: SLOTS }, () => [`${HOST}:${PORT}`]);

/** The node of a cluster client. Its duplicates tell when they are ready, as those of ioredis do. */
class Node implements RedisClient {
  readonly isCluster = false;
  readonly options = { host: HOST, port: PORT };
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get status(): string {
    return this.#connection.status;
  }

  call(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#connection.call(command, args);
  }

  callBuffer(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#connection.callBuffer(command, args);
  }

  on(event: string, listener: (...args: unknown[]) => void): unknown {
    return this.#connection.on(event, listener);
  }

  off(event: string, listener: (...args: unknown[]) => void): unknown {
    return this.#connection.off(event, listener);
  }

  disconnect(reconnect?: boolean): void {
    this.#connection.disconnect(reconnect);
  }

  pipeline(): ReturnType<Connection['pipeline']> {
    return this.#connection.pipeline();
  }

  duplicate(options?: Parameters<Connection['duplicate']>[0]): Connection {
    const duplicate = this.#connection.duplicate(options);
    queueMicrotask(() => duplicate.emit('ready'));
    return duplicate;
  }
}

export class Cluster extends EventEmitter implements RedisClient {
  readonly isCluster = true;
  readonly slots = OWNERS;
  readonly options = {};
  readonly #connection: Connection;
  readonly #node: Node;

  constructor(connection: Connection) {
    super();
    this.setMaxListeners(0);
    this.#connection = connection;
    this.#node = new Node(connection);
    for (const event of ['ready', 'close', 'reconnecting', 'end'])
      connection.on(event, () => this.emit(event));
  }

  get status(): string {
    return this.#connection.status;
  }

  call(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#connection.call(command, args);
  }

  callBuffer(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#connection.callBuffer(command, args);
  }

  nodes(): readonly Node[] {
    return [this.#node];
  }

  refreshSlotsCache(onRefreshed: () => void): void {
    onRefreshed();
  }

  duplicate(): Cluster {
    return new Cluster(this.#connection.duplicate());
  }

  disconnect(reconnect?: boolean): void {
    this.#connection.disconnect(reconnect);
  }
}
