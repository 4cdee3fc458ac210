/**
 * Reads of one slot. What is asked for in one tick is one command: a GET for a single key, else one MGET. This is what
 * each hit goes through, so a lone one has no more than the promise of the client and its own between it and Redis.
 *
 * While an answer is awaited, what is asked for until the next turn of the event loop is one command. Readers whom as many
 * callbacks of one turn wake would have a command each otherwise: 125 readers of a hot key cost 16 µs of CPU for each read, and
 * 5 µs so. A turn is far shorter than the way to Redis, and a reader alone has no answer awaited.
 */
import { afterMicrotasks } from '@mortise/redis';
import type { RedisConnection } from '@mortise/redis';
import type { CacheUnavailableError } from '../errors.js';
import type { Guard } from './guard.js';

/** A connection whose reads are tracked, while there is one. */
export interface TrackedReads {
  connection(): RedisConnection | undefined;
  /** It has failed. */
  doubt(): void;
}

type Replies = (Buffer | null)[];

interface Request {
  readonly redisKeys: readonly string[];
  readonly resolve: (replies: Replies) => void;
  readonly reject: (error: CacheUnavailableError) => void;
}

/** Keys in one command: about 1 ms of the server. */
const MAX_KEYS = 500;

export class Reads {
  readonly #connection: RedisConnection;
  readonly #guard: Guard;
  readonly #tracked: TrackedReads | undefined;
  readonly #trackedGuard: Guard;
  readonly #flush = (): void => this.#sendAll();
  #pending: Request[] = [];
  /** Commands that were sent and not answered. */
  #inFlight = 0;

  constructor(
    connection: RedisConnection,
    guard: Guard,
    tracked: { readonly reads: TrackedReads; readonly guard: Guard } | undefined,
  ) {
    this.#connection = connection;
    this.#guard = guard;
    this.#tracked = tracked?.reads;
    this.#trackedGuard = tracked?.guard ?? guard;
  }

  /** The bytes of keys of Redis, all in one command. Rejects with CacheUnavailableError. */
  read(redisKeys: readonly string[]): Promise<Replies> {
    return new Promise((resolve, reject) => {
      if (this.#pending.push({ redisKeys, resolve, reject }) > 1) return;
      if (this.#inFlight === 0) afterMicrotasks(this.#flush);
      else setImmediate(this.#flush);
    });
  }

  #sendAll(): void {
    const pending = this.#pending;
    this.#pending = [];
    let batch: Request[] = [];
    let keys = 0;
    for (const request of pending) {
      keys += request.redisKeys.length;
      if (keys > MAX_KEYS && batch.length > 0) {
        this.#send(batch);
        batch = [];
        keys = request.redisKeys.length;
      }
      batch.push(request);
    }
    this.#send(batch);
  }

  #send(batch: readonly Request[]): void {
    const [first] = batch;
    if (batch.length === 1 && first!.redisKeys.length === 1) {
      const { redisKeys, resolve, reject } = first!;
      this.#fetch('get', [redisKeys[0]!], (reply) => resolve([reply as Buffer | null]), reject);
      return;
    }
    const places = new Map<string, number>();
    for (const { redisKeys } of batch)
      for (const redisKey of redisKeys) if (!places.has(redisKey)) places.set(redisKey, places.size);
    const isOne = places.size === 1;
    this.#fetch(
      isOne ? 'get' : 'mget',
      [...places.keys()],
      (reply) => {
        const replies = (isOne ? [reply] : reply) as Replies;
        for (const { redisKeys, resolve } of batch)
          resolve(redisKeys.map((redisKey) => replies[places.get(redisKey)!]!));
      },
      (error) => {
        for (const { reject } of batch) reject(error);
      },
    );
  }

  #fetch(
    command: string,
    keys: string[],
    resolve: (reply: unknown) => void,
    reject: (error: CacheUnavailableError) => void,
  ): void {
    this.#inFlight += 1;
    const onReply = (reply: unknown): void => {
      this.#inFlight -= 1;
      resolve(reply);
    };
    const onError = (error: CacheUnavailableError): void => {
      this.#inFlight -= 1;
      reject(error);
    };
    const fetch = (): Promise<unknown> => this.#connection.callBuffer(command, keys);
    const near = this.#tracked?.connection();
    if (!near) {
      this.#guard.call(fetch, onReply, onError);
      return;
    }
    this.#trackedGuard.call(
      () => near.callBuffer(command, keys),
      onReply,
      (error) => {
        // A refusal is an answer: what is wrong is the key.
        if (!isReply(error.cause)) this.#tracked?.doubt();
        this.#trackedGuard.call(fetch, onReply, onError);
      },
    );
  }
}

function isReply(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'ReplyError';
}
