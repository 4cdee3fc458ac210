/**
 * Random queries of books in many scripts, which change all the time, against brute force: words in any order, cut anywhere, spelt
 * in another way, mistyped. `MORTISE_QUERIES` says how many; a run is repeated with the seed that it has printed.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { disconnect, freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { BruteForce, wordsOf } from '../../src/autocomplete/brute-force.js';
import type { Script } from '../../src/autocomplete/names-of-the-world.js';
import { mistyped, nameOf, SCRIPTS, typedFor, wordIn } from '../../src/autocomplete/names-of-the-world.js';
import { Random } from '../../src/autocomplete/random.js';
import { connectTo } from '../../src/connect.js';

const SEED = Number(process.env['MORTISE_SEED'] ?? Date.now() % 2 ** 31);
const QUERIES = Number(process.env['MORTISE_QUERIES'] ?? 100_000);
/** Of a book of one script, and of all. */
const ENTRIES = { one: 400, all: 3_000 };
const BOOKS = SCRIPTS.length + 2;
/** Of a book in which many names share each of them. */
const FEW_WORDS = 25;
const ROUND = 100;
const CHANGES = 10;
const MOST_SHOWN = 10;
const TIMEOUT_MS = 1_200_000;

let server: RedisServer;
let redis: Redis;
let asked = 0;

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
  redis = connectTo({ url: server.url }) as Redis;
});

afterAll(async () => {
  if (redis) disconnect(redis);
  await server?.stop();
});

/** A book, and what it should answer. */
class Pair {
  readonly names: string[] = [];
  readonly #book = new AddressBook(redis, 'guild', { prefix: freshPrefix() });
  readonly #truth = new BruteForce();
  readonly #keys: string[] = [];
  #added = 0;

  constructor(
    readonly word: () => string,
    readonly random: Random,
  ) {}

  #name(): string {
    for (;;) {
      const name = nameOf(this.word, this.random);
      if (wordsOf(name).length > 0) return name;
    }
  }

  async add(): Promise<void> {
    const { random } = this;
    const key = `${(this.#added += 1)}`;
    const display = this.#name();
    const aliases = random.isOneOf(8) ? [this.#name()] : [];
    // Some are equal.
    const score = random.isOneOf(3) ? random.below(20) : random.below(1_000_000);
    this.#keys.push(key);
    this.names.push(display, ...aliases);
    this.#truth.set({ key, names: [display, ...aliases], score });
    await this.#book.add({ key, display, aliases, score });
  }

  async change(): Promise<void> {
    const { random } = this;
    if (random.isOneOf(3)) return this.add();
    const at = random.below(this.#keys.length);
    const key = this.#keys[at]!;
    if (random.isOneOf(2)) {
      this.#keys.splice(at, 1);
      this.#truth.remove(key);
      await this.#book.remove(key);
    } else {
      const by = random.below(2_000) - 1_000;
      this.#truth.boost(key, by);
      await this.#book.boost(key, by);
    }
  }

  /** The fault of the answer to a random query. */
  async ask(): Promise<string | undefined> {
    const { random } = this;
    const fuzzy = random.isOneOf(5);
    const typed = typedFor(this.names, random);
    const text = fuzzy ? mistyped(typed, random) : typed;
    const limit = random.of([1, 3, 10, 10, 10, 50]);
    const answer = await this.#book.complete(text, { limit, fuzzy });
    return this.#truth.fault(
      text,
      limit,
      fuzzy,
      answer.map(({ key }) => key),
    );
  }

  async size(): Promise<[number, number]> {
    return [await this.#book.size(), this.#truth.size];
  }
}

async function askMany(scripts: readonly Script[], entries: number, words = Infinity): Promise<string[]> {
  const random = new Random(SEED);
  const any = (): string => wordIn(random.of(scripts), random);
  const few = Array.from({ length: Number.isFinite(words) ? words : 0 }, any);
  const pair = new Pair(few.length > 0 ? () => random.early(few) : any, random);
  for (let count = 0; count < entries; count += ROUND) {
    await Promise.all(Array.from({ length: ROUND }, () => pair.add()));
  }
  const faults: string[] = [];
  const queries = Math.ceil(QUERIES / BOOKS);
  for (let count = 0; count < queries; count += ROUND) {
    const found = await Promise.all(Array.from({ length: ROUND }, () => pair.ask()));
    asked += ROUND;
    faults.push(...found.filter((fault) => fault !== undefined));
    for (let change = 0; change < CHANGES; change += 1) await pair.change();
  }
  const [size, wanted] = await pair.size();
  expect(size).toBe(wanted);
  return faults.slice(0, MOST_SHOWN);
}

test.each(SCRIPTS)(
  '%s: no answer is wrong',
  async (script) => {
    process.stdout.write(`${script}: seed ${SEED}\n`);
    expect(await askMany([script], ENTRIES.one)).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'all scripts in one book: no answer is wrong',
  async () => {
    expect(await askMany(SCRIPTS, ENTRIES.all)).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'the same few words in all names: no answer is wrong',
  async () => {
    expect(await askMany(SCRIPTS, ENTRIES.all, FEW_WORDS)).toEqual([]);
  },
  TIMEOUT_MS,
);

test('that were as many queries as asked for', () => {
  process.stdout.write(`${asked} queries, seed ${SEED}\n`);
  expect(asked).toBeGreaterThanOrEqual(QUERIES);
});
