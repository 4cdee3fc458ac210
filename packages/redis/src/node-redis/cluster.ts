/**
 * A cluster client of node-redis behind the interface of `Cluster` in ioredis. The commands go to the client of their node; this
 * file follows redirections and repeats what a failover or a moving slot refuses, as ioredis does.
 *
 * Rejected: `sendCommand` of the cluster client. It waits for ever on a master that has died, since node-redis 5 fetches the slot
 * map only after MOVED; version 6 sends a command without a key to all nodes; and both give CLUSTERDOWN and TRYAGAIN to the caller.
 */
import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { CommandArgument, RedisClient } from '../client.js';
import { keySlot } from '../key-slot.js';
import type { NodeRedisConnection } from './connection.js';
import { encode } from './connection.js';
import { connectionClosed, isReplyError, notConnected } from './failures.js';
import type { Bulk } from './replies.js';
import { routingKey } from './routing.js';
import { SlotMap } from './slot-map.js';
import type { NodeRedisArgument, NodeRedisCluster } from './types.js';

/** As `maxRedirections`, `retryDelayOnFailover` and `retryDelayOnClusterDown` of ioredis. */
const MAX_ATTEMPTS = 16;
const RETRY_MS = 100;
/** How often the masters are looked at, from the loss of a connection until all are connected. */
const WATCH_MS = 200;

/** Refusals that pass by themselves. */
const PASSING = /^(TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN)\b/;

interface Command {
  readonly name: string;
  readonly args: readonly NodeRedisArgument[];
  readonly slot: number | undefined;
  readonly bulk: Bulk;
}

export class NodeRedisClusterClient extends EventEmitter implements RedisClient {
  readonly isCluster = true;
  readonly options: object = {};
  /** By slot: the master as `host:port`. Only for access by a slot. */
  readonly slots: readonly (readonly string[] | undefined)[];
  readonly #cluster: NodeRedisCluster;
  readonly #map: SlotMap;
  #wasOpen: boolean;
  #wasReady = false;
  #watch: NodeJS.Timeout | undefined;

  constructor(cluster: NodeRedisCluster) {
    super();
    this.setMaxListeners(0);
    this.#cluster = cluster;
    this.#map = new SlotMap(cluster);
    this.slots = this.#map.addresses;
    this.#wasOpen = cluster.isOpen;
    this.#attach();
  }

  get status(): string {
    if (!this.#cluster.isOpen) return this.#wasOpen ? 'end' : 'wait';
    this.#wasOpen = true;
    if (this.#map.anyReady()) {
      this.#wasReady = true;
      return 'ready';
    }
    return this.#wasReady ? 'reconnecting' : 'connecting';
  }

  call(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#call(command, args, 'string');
  }

  callBuffer(command: string, args: CommandArgument[]): Promise<unknown> {
    return this.#call(command, args, 'buffer');
  }

  /** The connected masters. */
  nodes(): NodeRedisConnection[] {
    return this.#map.connections();
  }

  /** Fetches the slot map, at most once at a time and for two seconds. */
  refreshSlotsCache(callback: (error?: Error | null) => void): void {
    void this.#map.refresh().finally(callback);
  }

  /** Another cluster client with the same options; connects in the background. */
  duplicate(): NodeRedisClusterClient {
    const cluster = this.#cluster.duplicate() as NodeRedisCluster;
    const duplicate = new NodeRedisClusterClient(cluster);
    cluster.connect().catch((error: unknown) => duplicate.#report(error));
    return duplicate;
  }

  disconnect(): void {
    if (this.#cluster.isOpen) this.#cluster.destroy();
  }

  #call(command: string, args: readonly CommandArgument[], bulk: Bulk): Promise<unknown> {
    const name = command.toLowerCase();
    const key = routingKey(name, args);
    const slot = key === undefined ? undefined : keySlot(key);
    const sent: Command = { name, args: encode(command, args), slot, bulk };
    // Without an await: calls are sent in the order in which they are made.
    const connection = this.#connection(slot);
    if (!connection) return this.#persist(sent, 0, notConnected());
    return send(connection, sent).catch((error: unknown) => this.#persist(sent, 1, error));
  }

  /** The connected master of the slot, or any one. */
  #connection(slot: number | undefined): NodeRedisConnection | undefined {
    const connection = slot === undefined ? this.#map.any() : this.#map.master(slot);
    return connection?.status === 'ready' ? connection : undefined;
  }

  /** Repeats a command that a node refused, or that could not be sent, until an error is final. */
  async #persist(command: Command, attempts: number, failure: unknown): Promise<unknown> {
    let error = failure;
    for (let attempt = attempts; attempt <= MAX_ATTEMPTS; attempt += 1) {
      if (this.status === 'wait') throw notConnected();
      if (!this.#cluster.isOpen) throw connectionClosed();
      const target = await this.#target(command, error);
      try {
        if (target) return await send(target.connection, command, target.isAsking);
        // The first connection may take its time.
        if (this.status === 'connecting') attempt -= 1;
      } catch (thrown) {
        error = thrown;
      }
    }
    const last = error instanceof Error ? error.message : String(error);
    throw new Error(`Too many Cluster redirections. Last error: ${last}`, { cause: error });
  }

  /** Where to send the command after this error. Throws the error if it is final. */
  async #target(
    { slot }: Command,
    error: unknown,
  ): Promise<{ connection: NodeRedisConnection; isAsking?: boolean } | undefined> {
    if (isReplyError(error)) {
      const [code, moved, address = ''] = error.message.split(' ');
      if (code === 'ASK' || code === 'MOVED') {
        if (code === 'MOVED') this.#map.learn(Number(moved), address);
        if (!this.#map.has(address)) await this.#map.refresh();
        const connection = await this.#map.connect(address);
        if (connection) return { connection, isAsking: code === 'ASK' };
      } else if (!PASSING.test(error.message)) throw error;
    } else if (error instanceof TypeError) throw error;
    await pause(RETRY_MS);
    if (!isReplyError(error) || error.message.startsWith('CLUSTERDOWN')) await this.#map.refresh();
    const connection = this.#connection(slot);
    return connection && { connection };
  }

  #attach(): void {
    const cluster = this.#cluster;
    cluster.on('connect', () => {
      this.#wasOpen = true;
      this.#wasReady = true;
      this.emit('connecting');
      this.emit('connect');
      this.emit('ready');
    });
    cluster.on('error', (error: unknown) => this.#report(error));
    cluster.on('node-connect', () => this.#map.endLate());
    cluster.on('node-error', () => {
      this.#map.endLate();
      this.#watchMasters();
    });
    cluster.on('disconnect', () => {
      this.#stopWatching();
      this.emit('close');
      this.emit('end');
    });
  }

  #report(error: unknown): void {
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  /** A master that has died gives no MOVED, so the slot map is fetched until every master is connected. */
  #watchMasters(): void {
    if (this.#watch || !this.#cluster.isOpen) return;
    let wasAway = false;
    this.#watch = setInterval(() => {
      if (!this.#cluster.isOpen) return this.#stopWatching();
      const isAway = !this.#map.anyReady();
      if (isAway && !wasAway) {
        this.emit('close');
        this.emit('reconnecting');
      } else if (wasAway && !isAway) {
        this.emit('connecting');
        this.emit('ready');
      }
      wasAway = isAway;
      if (this.#map.allReady()) this.#stopWatching();
      else void this.#map.refresh();
    }, WATCH_MS).unref();
  }

  #stopWatching(): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
  }
}

/** In one turn, so that no other command comes between ASKING and its command. */
function send(
  connection: NodeRedisConnection,
  { name, args, bulk }: Command,
  isAsking = false,
): Promise<unknown> {
  if (isAsking) connection.call('asking', []).catch(() => undefined);
  return connection.send(name, args, bulk);
}
