/** Locks, semaphores, read-write locks and rate limits that pages watch, and the lists of those that are in use. */
import { Injectable } from '@nestjs/common';

import { DEFAULT_PAGE } from '../http/page-limits.js';
import { byName, Watched } from '../lists/watched.js';
import { OperatorLists } from './operator-lists.js';
import { RemoteLocks } from './remote-locks.js';
import { RemoteRateLimiters } from './remote-rate-limiters.js';
import { RemoteReadWriteLocks } from './remote-read-write-locks.js';
import { RemoteSemaphores } from './remote-semaphores.js';

const EVERY_MS = 500;
/** A list is a scan of keys, of at most 0.1 s. */
const LIST_EVERY_MS = 2_000;

export type LockTopic = 'lock' | 'semaphore' | 'read-write-lock' | 'rate-limiter';
export type ListTopic = 'locks' | 'semaphores' | 'rate-limiters';

@Injectable()
export class WatchedLocks {
  readonly #one = new Watched<object | null>(EVERY_MS);
  readonly #lists = new Watched<object>(LIST_EVERY_MS);
  readonly #inspect: Readonly<Record<LockTopic, (name: string) => Promise<object | null>>>;
  readonly #page: Readonly<Record<ListTopic, () => Promise<Page>>>;

  constructor(
    locks: RemoteLocks,
    semaphores: RemoteSemaphores,
    readWriteLocks: RemoteReadWriteLocks,
    rateLimiters: RemoteRateLimiters,
    lists: OperatorLists,
  ) {
    this.#inspect = {
      lock: (name) => locks.inspect(name),
      semaphore: (name) => semaphores.inspect(name),
      'read-write-lock': (name) => readWriteLocks.inspect(name),
      'rate-limiter': (name) => rateLimiters.inspect(name),
    };
    this.#page = {
      locks: () => lists.locks(DEFAULT_PAGE, undefined),
      semaphores: () => lists.semaphores(DEFAULT_PAGE, undefined),
      'rate-limiters': () => lists.rateLimiters(DEFAULT_PAGE, undefined),
    };
  }

  /** One of the tenant of the request: its state, and each change, a renewal included, until the signal. */
  follow(kind: LockTopic, name: string, signal: AbortSignal): AsyncIterable<object | null> {
    return this.#one.follow(`${kind} ${name}`, signal, () => this.#inspect[kind](name));
  }

  /** The first page of a list of the tenant of the request, by name, and each change of it, until the signal. */
  followList(kind: ListTopic, signal: AbortSignal): AsyncIterable<object> {
    return this.#lists.follow(kind, signal, async () => {
      const { items, nextCursor } = await this.#page[kind]();
      return { items: items.toSorted(byName), isWhole: nextCursor === null };
    });
  }
}

interface Page {
  readonly items: readonly { readonly name: string }[];
  readonly nextCursor: string | null;
}
