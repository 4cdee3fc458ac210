/**
 * Coherence by the server's own client tracking, for a single node and Sentinel. Reads go over a connection of their own that
 * is tracked; whoever changes a key that was read there, by whatever command, makes the server say so on a second
 * connection. That one speaks RESP2: ioredis drops the pushes that RESP3 would bring (`returnPush` in its DataHandler
 * knows no `invalidate`).
 *
 * The server forgets what it tracks when the connection of the reads ends, and has nobody to tell when the other one does. So
 * the loss of either closes the tier at once, and both are set up again before it opens. A connection that is dead without
 * having ended shows by a PING that stays unanswered.
 */
import { isClosed, Loop } from '@mortise/redis';
import type { RedisClient, RedisConnection } from '@mortise/redis';
import { bounded } from './bounded.js';
import type { Coherence, Newsroom } from './coherence.js';

const CHANNEL = '__redis__:invalidate';
const CONNECTED = new Set(['connecting', 'connect', 'ready']);
/** Between two looks at connections that seem well, and how long one may take. */
const LOOK_MS = 1_000;
/** How long a connection may take to end. */
const DISCONNECT_MS = 50;

/** What is answered when the server has ended the connection of the news, and the end has not come yet. */
const BREAK = /in subscriber mode|redirect to does not exist/;

/** A connection as its server knows it. */
interface Known {
  readonly id: number;
  /** Of the server, anew with each start; undefined: it doesn't tell everybody. */
  readonly runId: string | undefined;
}

export class Tracking implements Coherence {
  readonly #redis: RedisClient;
  readonly #tier: Newsroom;
  readonly #loop: Loop;
  #reads: RedisConnection | undefined;
  #news: RedisConnection | undefined;
  /** The connection of the news; undefined when the server has to be asked, and it has to be subscribed. */
  #heard: Known | undefined;
  /** The news were lost without a word when the tier was set up last. */
  #isBroken = false;

  constructor(redis: RedisClient, tier: Newsroom, cache: string, onError: (error: unknown) => void) {
    this.#redis = redis;
    this.#tier = tier;
    this.#loop = new Loop(`mortise near tier of cache "${cache}"`, () => this.#step(), {
      onError,
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

  doubt(): void {
    this.#tier.close();
    renew(this.#reads);
    this.#loop.wake();
  }

  async #step(): Promise<number> {
    if (isClosed(this.#redis)) {
      void this.stop();
      return LOOK_MS;
    }
    try {
      const isRight = this.#tier.isOpen ? await this.#look() : await this.#arm();
      return isRight ? LOOK_MS : 0;
    } catch (error) {
      // A break while it was being set up, which is nobody's mistake: the next step waits for the connection.
      if ((error as Error).name === 'MaxRetriesPerRequestError') return 0;
      if (this.#isBroken || !BREAK.test((error as Error).message)) throw error;
      this.#isBroken = true;
      renew(this.#news);
      return 0;
    }
  }

  /** Whether the tier could be opened. */
  async #arm(): Promise<boolean> {
    this.#reads ??= this.#connect('reads');
    this.#news ??= this.#connect('news');
    const [reads, news] = [this.#reads, this.#news];
    const { epoch } = this.#tier;
    if (!(await bounded(ready(news), LOOK_MS)) || !(await bounded(ready(reads), LOOK_MS))) return false;
    const heard = this.#heard ?? (await this.#subscribe(news));
    if (!heard) return false;
    const runId = await runIdOf(reads);
    if (runId !== undefined && heard.runId !== undefined && runId !== heard.runId) {
      // An endpoint that moves, with one of them left behind. An id says nothing then: somebody else has it there.
      for (const connection of [reads, news]) renew(connection);
      throw new Error('its two connections reach different servers');
    }
    await reads.call('client', ['tracking', 'on', 'redirect', heard.id]);
    // One of them was lost meanwhile.
    if (this.#tier.epoch !== epoch || this.#reads !== reads) return false;
    this.#isBroken = false;
    this.#tier.open();
    return true;
  }

  /** Undefined when the connection was lost. */
  async #subscribe(news: RedisConnection): Promise<Known | undefined> {
    // First, as nothing else can be asked behind it.
    const known = { id: Number(await news.call('client', ['id'])), runId: await runIdOf(news) };
    await news.call('subscribe', [CHANNEL]);
    if (this.#news !== news || news.status !== 'ready') return undefined;
    this.#heard = known;
    return known;
  }

  /** Whether both connections answer, and the server knows where to send the news. */
  async #look(): Promise<boolean> {
    const [reads, news] = [this.#reads, this.#news];
    if (!reads || !news) return false;
    const [isHeard, info] = await Promise.all([
      bounded(news.call('ping', []), LOOK_MS),
      bounded(reads.call('client', ['trackinginfo']), LOOK_MS),
    ]);
    if (isHeard && info && !JSON.stringify(info).includes('broken_redirect')) return true;
    this.#tier.close();
    if (!isHeard) renew(news);
    if (!info) renew(reads);
    return false;
  }

  #connect(what: 'reads' | 'news'): RedisConnection {
    const { connectionName } = this.#redis.options as { connectionName?: string | null };
    const name = `mortise-near-${what}`;
    const connection = this.#redis.duplicate({
      protocol: 2,
      replyMapping: 'legacy',
      lazyConnect: false,
      enableOfflineQueue: true,
      enableAutoPipelining: false,
      autoResubscribe: false,
      // What was sent before a break was not tracked behind it.
      autoResendUnfulfilledCommands: false,
      // And what was not answered fails at the break, instead of never.
      maxRetriesPerRequest: 0,
      retryStrategy: (times: number) => Math.min(times * 20, 1_000),
      // For one that has ended already, ioredis would wait two seconds for that, and hold the process.
      disconnectTimeout: DISCONNECT_MS,
      sentinelRetryStrategy: (times: number) => Math.min(times * 20, 1_000),
      // What an operator sees in CLIENT LIST.
      connectionName: connectionName ? `${connectionName}:${name}` : name,
    });
    // ioredis reconnects by itself; without a listener it would print each failed attempt.
    connection.on('error', () => undefined);
    connection.on('close', () => {
      if (connection !== this.#reads && connection !== this.#news) return;
      if (connection === this.#news) this.#heard = undefined;
      this.#tier.close();
      this.#loop.wake();
    });
    if (what === 'news') {
      // `message` would join several keys with commas.
      connection.on('messageBuffer', (_: Buffer, keys: readonly Buffer[] | null) => {
        if (Array.isArray(keys)) for (const key of keys as Buffer[]) this.#tier.onChanged(key.toString());
        else this.#tier.clear();
      });
    }
    return connection;
  }

  #drop(): void {
    this.#tier.close();
    this.#heard = undefined;
    const connections = [this.#reads, this.#news];
    this.#reads = undefined;
    this.#news = undefined;
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

/** Gives a connection up for a new one, unless that is under way. */
function renew(connection: RedisConnection | undefined): void {
  if (connection && CONNECTED.has(connection.status)) connection.disconnect(true);
}

function ready(connection: RedisConnection): Promise<true> {
  if (connection.status === 'ready') return Promise.resolve(true);
  return new Promise((resolve) => {
    const onReady = (): void => {
      connection.off('ready', onReady);
      resolve(true);
    };
    connection.on('ready', onReady);
  });
}
