/**
 * Coherence by Redis client tracking, for a single node and Sentinel. The near tier reads over a tracked connection of its own.
 * Redis announces each change of a key that was read there, whatever command made it, on a second connection.
 * The second connection speaks RESP2, because ioredis drops RESP3 `invalidate` pushes (`returnPush` in its DataHandler).
 *
 * Redis forgets the tracked keys when the read connection ends, and cannot announce anything when the other one ends.
 * So losing either connection closes the tier at once. The tier opens again when both are set up anew.
 * A PING without an answer reveals a connection that is dead but not closed.
 */
import { isClosed, Loop } from '@mortise/redis';
import type { ErrorReporter, RedisClient, RedisConnection } from '@mortise/redis';
import { bounded } from './bounded.js';
import type { Coherence, CoherentTier } from './coherence.js';

const CHANNEL = '__redis__:invalidate';
const CONNECTED = new Set(['connecting', 'connect', 'ready']);
/** The interval between two checks of healthy connections, and the time limit of one check. */
const CHECK_MS = 1_000;
/** How long closing a connection may take. */
const DISCONNECT_MS = 50;

/** Error replies of Redis between the end of the invalidation connection and its detection by the client. */
const BREAK = /in subscriber mode|redirect to does not exist/;

/** A connection as identified by Redis. */
interface ServerConnection {
  readonly id: number;
  /** The run id of the server; undefined where `INFO` is not allowed. */
  readonly runId: string | undefined;
}

export class ClientTracking implements Coherence {
  readonly #redis: RedisClient;
  readonly #tier: CoherentTier;
  readonly #loop: Loop;
  #reads: RedisConnection | undefined;
  #invalidations: RedisConnection | undefined;
  /** The invalidation connection; undefined until it is subscribed. */
  #subscribed: ServerConnection | undefined;
  /** Whether the last attempt to set up the tier met one of the BREAK replies. */
  #isBroken = false;

  constructor(redis: RedisClient, tier: CoherentTier, cache: string, reporter: ErrorReporter) {
    this.#redis = redis;
    this.#tier = tier;
    this.#loop = new Loop(`mortise near tier of cache "${cache}"`, () => this.#step(), {
      onError: (error) => reporter.reportRepeated(error),
      backoff: { delayMs: 50, maxDelayMs: 1_000 },
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#drop();
    await stopped;
    this.#drop();
  }

  connection(): RedisConnection | undefined {
    return this.#tier.isOpen ? this.#reads : undefined;
  }

  onConnectionFailed(): void {
    this.#tier.close();
    renew(this.#reads);
    this.#loop.wake();
  }

  async #step(): Promise<number> {
    if (isClosed(this.#redis)) {
      void this.stop();
      return CHECK_MS;
    }
    try {
      const isHealthy = this.#tier.isOpen ? await this.#check() : await this.#open();
      return isHealthy ? CHECK_MS : 0;
    } catch (error) {
      // `stop` has closed the connections.
      if (this.#reads === undefined) return CHECK_MS;
      // The connection broke during the setup: the next step runs when it is back.
      if ((error as Error).name === 'MaxRetriesPerRequestError') return 0;
      if (this.#isBroken || !BREAK.test((error as Error).message)) throw error;
      this.#isBroken = true;
      renew(this.#invalidations);
      return 0;
    }
  }

  /** Returns whether the tier is open now. */
  async #open(): Promise<boolean> {
    this.#reads ??= this.#connect('reads');
    this.#invalidations ??= this.#connect('invalidations');
    const [reads, invalidations] = [this.#reads, this.#invalidations];
    const { epoch } = this.#tier;
    if (!(await isReadyWithin(invalidations, CHECK_MS)) || !(await isReadyWithin(reads, CHECK_MS)))
      return false;
    const subscribed = this.#subscribed ?? (await this.#subscribe(invalidations));
    if (!subscribed) return false;
    const runId = await runIdOf(reads);
    if (runId !== undefined && subscribed.runId !== undefined && runId !== subscribed.runId) {
      // The endpoint has moved and one connection still reaches the old server, where the client id means nothing.
      for (const connection of [reads, invalidations]) renew(connection);
      throw new Error('its two connections reach different servers');
    }
    await reads.call('client', ['tracking', 'on', 'redirect', subscribed.id]);
    // One of the connections was lost in between.
    if (this.#tier.epoch !== epoch || this.#reads !== reads) return false;
    this.#isBroken = false;
    this.#tier.open();
    return true;
  }

  /** Returns undefined when the connection was lost. */
  async #subscribe(invalidations: RedisConnection): Promise<ServerConnection | undefined> {
    // Before everything else: a subscribed RESP2 connection accepts no other commands.
    const known = {
      id: Number(await invalidations.call('client', ['id'])),
      runId: await runIdOf(invalidations),
    };
    await invalidations.call('subscribe', [CHANNEL]);
    if (this.#invalidations !== invalidations || invalidations.status !== 'ready') return undefined;
    this.#subscribed = known;
    return known;
  }

  /** Returns whether both connections answer and the redirect still works. */
  async #check(): Promise<boolean> {
    const [reads, invalidations] = [this.#reads, this.#invalidations];
    if (!reads || !invalidations) return false;
    const [isSubscriberAlive, info] = await Promise.all([
      bounded(invalidations.call('ping', []), CHECK_MS),
      bounded(reads.call('client', ['trackinginfo']), CHECK_MS),
    ]);
    if (isSubscriberAlive && info && !JSON.stringify(info).includes('broken_redirect')) return true;
    this.#tier.close();
    if (!isSubscriberAlive) renew(invalidations);
    if (!info) renew(reads);
    return false;
  }

  #connect(what: 'reads' | 'invalidations'): RedisConnection {
    const { connectionName } = this.#redis.options as { connectionName?: string | null };
    const name = `mortise-near-${what}`;
    const connection = this.#redis.duplicate({
      protocol: 2,
      replyMapping: 'legacy',
      lazyConnect: false,
      enableOfflineQueue: true,
      enableAutoPipelining: false,
      autoResubscribe: false,
      // A command resent after a break would not be tracked.
      autoResendUnfulfilledCommands: false,
      // Pending commands fail at a break instead of never.
      maxRetriesPerRequest: 0,
      retryStrategy: (times: number) => Math.min(times * 20, 1_000),
      // For an ended connection ioredis would wait two seconds and keep the process alive.
      disconnectTimeout: DISCONNECT_MS,
      sentinelRetryStrategy: (times: number) => Math.min(times * 20, 1_000),
      // The name that CLIENT LIST shows.
      connectionName: connectionName ? `${connectionName}:${name}` : name,
    });
    // ioredis reconnects by itself; without a listener it prints each failed attempt.
    connection.on('error', () => undefined);
    connection.on('close', () => {
      if (connection !== this.#reads && connection !== this.#invalidations) return;
      if (connection === this.#invalidations) this.#subscribed = undefined;
      this.#tier.close();
      this.#loop.wake();
    });
    if (what === 'invalidations') {
      // The event `message` would join several keys with commas.
      connection.on('messageBuffer', (_: Buffer, keys: readonly Buffer[] | null) => {
        if (Array.isArray(keys)) for (const key of keys as Buffer[]) this.#tier.onChanged(key.toString());
        else this.#tier.clear();
      });
    }
    return connection;
  }

  #drop(): void {
    this.#tier.close();
    this.#subscribed = undefined;
    const connections = [this.#reads, this.#invalidations];
    this.#reads = undefined;
    this.#invalidations = undefined;
    for (const connection of connections)
      if (connection && connection.status !== 'end') connection.disconnect();
  }
}

async function runIdOf(connection: RedisConnection): Promise<string | undefined> {
  try {
    const info = (await connection.call('info', ['server'])) as string;
    return /^run_id:(\w+)/m.exec(info)?.[1];
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return undefined;
    throw error;
  }
}

/** Replaces a connection by a new one, unless that is in progress. */
function renew(connection: RedisConnection | undefined): void {
  if (connection && CONNECTED.has(connection.status)) connection.disconnect(true);
}

/** The listener goes when the time is up: an outage may take many such waits. */
function isReadyWithin(connection: RedisConnection, waitMs: number): Promise<boolean> {
  if (connection.status === 'ready') return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = (isReady: boolean): void => {
      clearTimeout(timer);
      connection.off('ready', onReady);
      resolve(isReady);
    };
    const onReady = (): void => end(true);
    const timer = setTimeout(end, waitMs, false);
    connection.on('ready', onReady);
  });
}
