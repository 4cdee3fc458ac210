import { callRedis, requireName } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { BookKeys } from '../../keys.js';
import { bookGet } from '../../scripts.gen.js';
import type { BookEntry } from '../entry.js';
import { idOf, membersOf, readEntry } from '../entry.js';
import { scoreOf } from '../score.js';
import { whileSlotMoves } from '../slot-moves.js';

/** A stored entry of a book. */
export interface StoredBookEntry<Payload> extends BookEntry<Payload> {
  readonly score: number;
}

/** Reads entries by their keys. */
export class StoredEntries<Payload> {
  readonly #redis: RedisClient;
  readonly #keys: BookKeys;
  readonly #halfLifeMs: number;

  constructor(redis: RedisClient, keys: BookKeys, halfLifeMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#halfLifeMs = halfLifeMs;
  }

  async get(key: string): Promise<StoredBookEntry<Payload> | null> {
    const args = { halfLifeMs: this.#halfLifeMs, id: idOf(requireName('key', key)), members: membersOf(key) };
    const reply = await whileSlotMoves(() => bookGet.run(this.#redis, this.#keys, args));
    if (reply === null) return null;
    const [card, rank, halfLives] = reply as [string, string, string];
    const { display, aliases, payload } = readEntry(key, card);
    const score = scoreOf(rank, this.#halfLifeMs, halfLives);
    return { key, display, aliases, payload: payload as Payload | undefined, score };
  }

  async size(): Promise<number> {
    return Number((await callRedis(this.#redis, 'hget', [this.#keys.meta, 'size'])) ?? 0);
  }
}
