/** Completes all the time, and looks at each answer: every entry in it has to be one version of it, wholly. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressBook, Suggestion } from '@mortise/autocomplete';
import { until } from '../until.js';
import type { Version } from './versions.js';
import { versionOf } from './versions.js';

const TYPED = ['', 'a', 'jo', 'b', 'smi', 'jo s', 'k1x', 'k2', 'м', '조', 'l s', 'ann jon'];
const LIMIT = 20;
const AFTER_ERROR_MS = 10;
/** A key of the book is on another server just now. */
const MOVING = /non local key/;
const TIMEOUT_MS = 90_000;

export class BookReader {
  reads = 0;
  /** While there is no server. */
  failures = 0;
  /** Parts of two versions in one. */
  readonly torn: string[] = [];
  readonly #book: AddressBook<Version['payload']>;
  #isStopping = false;
  #running: Promise<void> | undefined;

  constructor(
    book: AddressBook<Version['payload']>,
    /** Between two reads. */
    readonly pauseMs = 0,
  ) {
    this.#book = book;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when so many more answers have come. */
  async movesOn(reads: number): Promise<void> {
    const aim = this.reads + reads;
    await until(`${reads} reads`, () => this.reads >= aim, TIMEOUT_MS);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#isStopping; turn += 1) {
      try {
        this.#check(await this.#book.complete(TYPED[turn % TYPED.length]!, { limit: LIMIT }));
        this.reads += 1;
        if (this.pauseMs > 0) await sleep(this.pauseMs);
      } catch (error) {
        const { message } = error as Error;
        if (/script/.test(message) && !MOVING.test(message)) this.torn.push(message);
        this.failures += 1;
        await sleep(AFTER_ERROR_MS);
      }
    }
  }

  #check(answer: readonly Suggestion<Version['payload']>[]): void {
    let last = Infinity;
    for (const { key, display, score, payload } of answer) {
      const version = versionOf(key, payload?.version ?? 0);
      const isWhole = version && version.display === display && version.score === score;
      if (!isWhole || score > last) this.torn.push(`${key}: ${JSON.stringify({ display, score, payload })}`);
      last = score;
    }
  }
}
