/**
 * Completions of recent contacts on their way to Redis. Those of a tick share calls, for the reason of changes
 * (`contact-changes.ts`), and by the same conditions: those of users in different slots share none on a Cluster.
 */
import { Coalescer } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { refusesKeys } from './refused-keys.js';

/** The most completions in one script call: at the largest capacity they block the server for about 2 ms. */
const MAX_BATCH = 16;

export interface ContactQuery {
  /** The key of the user. */
  readonly key: string;
  /** Normalized text. */
  readonly prefix: string;
  readonly limit: number;
}

/** Runs the script. Resolves to the contacts of each query, or to its error. */
export type FindContacts = (queries: readonly ContactQuery[]) => Promise<readonly (string[] | Error)[]>;

export class ContactCompletions {
  readonly #find: FindContacts;
  readonly #queries: Coalescer<string, ContactQuery, string[]>;
  /** Whether several users may share a call. */
  #isShared: boolean;

  constructor(redis: RedisClient, find: FindContacts) {
    this.#find = find;
    this.#isShared = !redis.isCluster;
    this.#queries = new Coalescer(async (_, queries) => this.#send(queries), { maxBatch: MAX_BATCH });
  }

  find(query: ContactQuery): Promise<string[]> {
    return this.#queries.submit(this.#isShared ? '' : query.key, query);
  }

  async #send(queries: readonly ContactQuery[]): Promise<readonly (string[] | Error)[]> {
    try {
      return await this.#find(queries);
    } catch (error) {
      if (queries.length === 1 || !refusesKeys(error)) throw error;
      if (error.message.startsWith('CROSSSLOT')) this.#isShared = false;
      return Promise.all(queries.map((query) => this.#alone(query)));
    }
  }

  async #alone(query: ContactQuery): Promise<string[] | Error> {
    try {
      return (await this.#find([query]))[0]!;
    } catch (error) {
      return error as Error;
    }
  }
}
