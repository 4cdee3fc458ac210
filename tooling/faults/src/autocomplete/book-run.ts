/**
 * One run: processes that change a book, what is done to them, and the verdict: each entry has to be a version that its process may
 * have left it at, wholly; and the book has to be one that could have been made of these entries alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AddressBook } from '@mortise/autocomplete';
import { until } from '../until.js';
import type { Cluster, Redis } from 'ioredis';
import { Child } from '../child.js';
import { connectTo } from '../connect.js';
import type { RedisAddress } from '../locks/config.js';
import type { ActorConfig, ActorMessage, Order } from './config.js';
import { BOOK, SHARED, sharedKey } from './config.js';
import { readJournal } from './journal.js';
import { readStoredBook } from './stored-book.js';
import type { Version } from './versions.js';
import { handleOf, versionOf } from './versions.js';

export interface BookRunOptions {
  readonly prefix: string;
  readonly role: ActorConfig['role'];
  readonly actors: number;
  /** Entries of each actor. */
  readonly entries: number;
  readonly isBoosting?: boolean;
  /** Whether each actor looks up what it has left an entry at, before it changes the entry again. */
  readonly looksUp?: boolean;
  /** Between two changes of an entry. Default: none. */
  readonly pauseMs?: number;
}

export interface Verdict {
  /** Entries whose version is none that they may have. */
  readonly wrong: readonly string[];
  /** Entries of which parts of another version were found, or not all parts. */
  readonly torn: readonly string[];
  /** The faults of the keys of the book. */
  readonly faults: readonly string[];
  /** The unexpected errors of actors. */
  readonly errors: readonly string[];
}

export const GOOD: Verdict = { wrong: [], torn: [], faults: [], errors: [] };

const TIMEOUT_MS = 90_000;
const MOST_SHOWN = 10;
/** Lookups, and changes of the book that is compared, at the same time. */
const AT_ONCE = 200;

/** How far an entry has come. */
interface Progress {
  accepted: number;
  tried: number;
}

export class BookRun {
  readonly redis: Redis | Cluster;
  readonly book: AddressBook<Version['payload']>;
  readonly #options: BookRunOptions;
  readonly #configs: readonly ActorConfig[];
  readonly #directory: string;
  readonly #children: Child[] = [];
  /** Of each journal: the lines before this one are of changes that may be gone. */
  readonly #kept = new Map<string, number>();
  /** Changes that were accepted so far, or some fewer. */
  accepted = 0;
  kills = 0;

  private constructor(address: RedisAddress, options: BookRunOptions) {
    this.redis = connectTo(address);
    this.#options = options;
    const { prefix, role, actors, entries, isBoosting = false, looksUp = false, pauseMs = 0 } = options;
    this.book = new AddressBook(this.redis, BOOK, { prefix });
    this.#directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));
    this.#configs = Array.from({ length: actors }, (_, index) => {
      const file = join(this.#directory, `journal-${index}`);
      return { role, index, file, redis: address, prefix, entries, isBoosting, looksUp, pauseMs };
    });
  }

  /** Resolves when all processes run. */
  static async start(address: RedisAddress, options: BookRunOptions): Promise<BookRun> {
    const run = new BookRun(address, options);
    try {
      if (options.isBoosting) await run.#addShared();
      await Promise.all(run.#configs.map((config) => run.#start(config)));
      return run;
    } catch (error) {
      await run.dispose();
      throw error;
    }
  }

  /** The unexpected errors of actors. */
  get errors(): string[] {
    return this.#configs
      .flatMap(({ file }) => readJournal(file))
      .flatMap(({ type, key }) => (type === 'error' ? [key] : []));
  }

  /** Entries that were another version than their actor had left them at, between these instants, µs. */
  get changed(): { readonly what: string; readonly calledAt: number; readonly answeredAt: number }[] {
    return this.#configs
      .flatMap(({ file }) => readJournal(file))
      .flatMap(({ type, key, number, to = Infinity }) =>
        type === 'changed' ? [{ what: key, calledAt: number, answeredAt: to }] : [],
      );
  }

  /** Resolves when so many more changes were accepted. */
  async movesOn(changes: number): Promise<void> {
    const aim = this.accepted + changes;
    await until(`${changes} changes`, () => this.accepted >= aim, TIMEOUT_MS);
  }

  /** SIGKILL; another process takes its place, and continues after it. */
  async replace(index: number): Promise<void> {
    this.kills += 1;
    await this.#children[index]!.kill();
    await this.#start(this.#configs[index]!);
  }

  /** SIGKILL of all; no process continues. */
  async kill(): Promise<void> {
    this.kills += this.#children.length;
    await Promise.all(this.#children.map((child) => child.kill()));
  }

  /** Waits until all actors are done, or stops actors that run without end. */
  async end(): Promise<void> {
    for (const child of this.#children) child.send('stop' satisfies Order);
    await Promise.all(this.#children.map(({ hasEnded }) => hasEnded));
  }

  /** @param mayForget Accepted changes may be lost: any version that was tried is right. */
  async verdict({ mayForget = false } = {}): Promise<Verdict> {
    const progress = this.#progress();
    const wrong: string[] = [];
    const torn: string[] = [];
    const found: Version[] = [];
    await eachOf([...progress], async ([key, { accepted, tried }]) => {
      const version = await this.#find(key, torn);
      const isRight = Array.from({ length: tried + 1 }, (_, number) => number)
        .slice(mayForget ? 0 : accepted)
        .some((number) => versionOf(key, number)?.payload.version === version?.payload.version);
      if (!isRight) {
        const has = version === undefined ? 'is not there' : `is ${version.payload.version}`;
        wrong.push(`${key} ${has}, accepted ${accepted}, tried ${tried}`);
      }
      if (version) found.push(version);
    });
    if (this.#options.isBoosting) wrong.push(...(await this.#wrongShared()));
    const faults = await this.#faults(found);
    return {
      wrong: wrong.slice(0, MOST_SHOWN),
      torn: torn.slice(0, MOST_SHOWN),
      faults: faults.slice(0, MOST_SHOWN),
      errors: this.errors.slice(0, MOST_SHOWN),
    };
  }

  /** Removes all entries, and those of the book that was compared. */
  async clean(): Promise<void> {
    const { prefix } = this.#options;
    const keys = [...this.#progress().keys()];
    for (const own of [prefix, `fresh-${prefix}`]) {
      const book = new AddressBook(this.redis, BOOK, { prefix: own });
      await eachOf(keys, (key) => book.remove(key));
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()));
    this.redis.disconnect();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** The process of each actor. */
  get children(): readonly Child[] {
    return this.#children;
  }

  /** From now on, changes that were accepted before may be gone: any version that was tried by then is right. */
  forgets(): void {
    for (const { file } of this.#configs) this.#kept.set(file, readJournal(file).length);
  }

  async #start(config: ActorConfig): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const child = new Child('autocomplete/program.js', config, config.file, (message) => {
        const report = message as ActorMessage;
        if (report === 'ready') resolve();
        else this.accepted += report;
      });
      this.#children[config.index] = child;
      void child.hasEnded.then(() => reject(new Error(`process ${config.index} ended:\n${child.output}`)));
    });
  }

  #progress(): Map<string, Progress> {
    const progress = new Map<string, Progress>();
    for (const { file } of this.#configs) {
      const kept = this.#kept.get(file) ?? 0;
      for (const [line, { type, key, number }] of readJournal(file).entries()) {
        if (type !== 'tried' && (type !== 'accepted' || line < kept)) continue;
        const known = progress.get(key) ?? { accepted: 0, tried: 0 };
        known[type] = number;
        progress.set(key, known);
      }
    }
    return progress;
  }

  /** The version that an entry has, by what is found under its handle; notes what isn't of that version. */
  async #find(key: string, torn: string[]): Promise<Version | undefined> {
    const handle = handleOf(key);
    const suggestions = await this.book.complete(handle, { limit: 10 });
    const own = suggestions.filter((suggestion) => suggestion.key === key);
    if (own.length > 1) torn.push(`${key} came ${own.length} times`);
    const [suggestion] = own;
    if (!suggestion) return undefined;
    const version = versionOf(key, suggestion.payload?.version ?? 0);
    const { display, score } = suggestion;
    if (!version || version.display !== display || version.score !== score) {
      torn.push(`${key} is ${JSON.stringify(suggestion)}`);
      return undefined;
    }
    const byKey = await this.book.get(key);
    if (byKey?.display !== display || byKey.score !== score)
      torn.push(`${key} is ${JSON.stringify(byKey)} by its key`);
    // The comparison checks the answers to other names.
    if (version.score % 8 > 0) return version;
    const byName = await this.book.complete(display, { limit: 1_000 });
    if (!byName.some((other) => other.key === key)) torn.push(`${key} is not found by ${display}`);
    return version;
  }

  async #addShared(): Promise<void> {
    for (let index = 0; index < SHARED; index += 1) await this.book.add({ key: sharedKey(index), score: 0 });
  }

  async #sharedScores(): Promise<Map<string, number>> {
    const suggestions = await this.book.complete('shared', { limit: 1_000 });
    return new Map(suggestions.map(({ key, score }) => [key, score]));
  }

  /** The scores that all have boosted have to be the sums. */
  async #wrongShared(): Promise<string[]> {
    const sums = new Map<string, number>();
    for (const { file } of this.#configs) {
      for (const { type, key, number } of readJournal(file)) {
        if (type === 'boosted') sums.set(key, (sums.get(key) ?? 0) + number);
      }
    }
    const scores = await this.#sharedScores();
    return [...sums].flatMap(([key, sum]) =>
      scores.get(key) === sum ? [] : [`${key} has ${scores.get(key)} instead of ${sum}`],
    );
  }

  /** Compares the book with one into which only these entries were put. */
  async #faults(found: readonly Version[]): Promise<string[]> {
    const { prefix } = this.#options;
    const fresh = new AddressBook(this.redis, BOOK, { prefix: `fresh-${prefix}` });
    const shared = this.#options.isBoosting ? [...(await this.#sharedScores())] : [];
    await eachOf(found, (version) => fresh.add(version));
    await eachOf(shared, ([key, score]) => fresh.add({ key, score }));
    const stored = await readStoredBook(this.redis, prefix);
    const wanted = await readStoredBook(this.redis, `fresh-${prefix}`);
    const faults = [...stored.faults, ...wanted.faults.map((fault) => `made anew: ${fault}`)];
    if (stored.size !== wanted.size) faults.push(`its size is ${stored.size} instead of ${wanted.size}`);
    const known = new Set(wanted.members);
    const has = new Set(stored.members);
    for (const member of has) if (!known.has(member)) faults.push(`left behind: ${JSON.stringify(member)}`);
    for (const member of known) if (!has.has(member)) faults.push(`missing: ${JSON.stringify(member)}`);
    for (const id of new Set([...Object.keys(stored.cards), ...Object.keys(wanted.cards)])) {
      if (stored.cards[id] !== wanted.cards[id]) faults.push(`the card of ${id} is ${stored.cards[id]}`);
    }
    return faults;
  }
}

async function eachOf<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    await Promise.all(items.slice(at, at + AT_ONCE).map(act));
  }
}
