/**
 * The priorities of a queue and the keys that belong to them. They are stored with the queue, since producers and
 * workers must agree on them; a worker is told only the name of a queue and takes them from there.
 */
import type { RedisClient } from '@mortise/redis';
import { requireOneOf } from '@mortise/redis';
import { PrioritiesMismatchError } from './errors.js';
import type { QueueKeys } from './keys.js';
import { DEFAULTS, resolvePriorities } from './options.js';

const MISMATCH = 'PRIORITIES ';

export class Lanes {
  readonly #queue: string;
  readonly #queueKeys: QueueKeys;
  readonly #isNamed: boolean;
  #names: readonly string[];
  #keys: readonly string[];
  #isKnown: boolean;
  #learning: Promise<void> | undefined;

  /** @param names Undefined: those that are stored, or the default ones where there are none. */
  constructor(queue: string, queueKeys: QueueKeys, names: readonly string[] | undefined) {
    this.#queue = queue;
    this.#queueKeys = queueKeys;
    this.#isNamed = names !== undefined;
    this.#isKnown = this.#isNamed;
    this.#names = resolvePriorities(names ?? DEFAULTS.priorities);
    this.#keys = queueKeys.lanes(this.#names.length);
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /** The names as the scripts compare them. */
  get argument(): string {
    return this.#names.join(',');
  }

  /** Ready, scheduled and retrying keys of each lane in turn. */
  get keys(): readonly string[] {
    return this.#keys;
  }

  /** Whether a priority can be checked against the names; otherwise `learn` first. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Looks the stored names up. One round trip, shared by all who ask at the same time. */
  learn(redis: RedisClient): Promise<void> {
    this.#learning ??= this.#look(redis).finally(() => {
      this.#learning = undefined;
    });
    return this.#learning;
  }

  /** The lane of a priority. Default: the middle one. Throws RangeError for an unknown name. */
  laneOf(priority: string | undefined): number {
    if (priority === undefined) return Math.floor(this.#names.length / 2);
    return this.#names.indexOf(requireOneOf('priority', priority, this.#names));
  }

  /**
   * Makes a call of a script that compares the priorities. When it says that others are stored, they are taken over
   * and the call is made again, unless the user has named the present ones.
   */
  async run<Reply>(call: () => Promise<Reply>): Promise<Reply> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith(MISMATCH)) throw error;
      const stored = error.message.slice(MISMATCH.length);
      if (this.#isNamed) throw new PrioritiesMismatchError(this.#queue, this.#names, stored.split(','));
      this.#adopt(stored);
      return await call();
    }
  }

  async #look(redis: RedisClient): Promise<void> {
    const stored = await redis.call('get', [this.#queueKeys.priorities]);
    if (typeof stored === 'string') this.#adopt(stored);
    this.#isKnown = true;
  }

  #adopt(stored: string): void {
    this.#names = stored.split(',');
    this.#keys = this.#queueKeys.lanes(this.#names.length);
    this.#isKnown = true;
  }
}
