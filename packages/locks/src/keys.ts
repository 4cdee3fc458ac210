/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:locks:{<name>}:lease` | STRING holder | whoever is granted the lock; its renewals | with the release, or at the end of the lease |
 * | `<prefix>:locks:{<name>}:token` | STRING last fencing token | every grant | 7 days after it was made; the next grant makes it anew |
 * | `<prefix>:locks:{<name>}:queue` | ZSET waiter → its place | waiters and their re-checks | with the last waiter, or 60 s after the last arrival or re-check |
 * | `<prefix>:locks:{<name>}:rate` | STRING instant at which the whole burst remains | takes that are allowed | at that instant |
 * | `<prefix>:locks:{<name>}:latch` | HASH epoch, count, remaining | count-downs; waiters and their re-checks | `ttlMs` after the last of them, or after it opened |
 * | `<prefix>:locks:{<name>}:latch-ids` | SET ids that have counted | count-downs with an id | when the latch opens, or with it |
 * | `<prefix>:locks:{<name>}:permits` | ZSET holder → end of its lease | whoever is granted permits of a semaphore; renewals | with the last holder, or 7 days after the last grant or renewal |
 * | `<prefix>:locks:{<name>}:permits-queue` | ZSET waiter → its place | waiters for permits and their re-checks | with the last waiter, or 60 s after the last arrival or re-check |
 * | `<prefix>:locks:{<name>}:permits-state` | STRING limit, used permits, clock | every change of a semaphore | 7 days after the last grant, renewal or `setPermits` |
 * | `<prefix>:locks:{<name>}:write` | STRING the writer of a read-write lock | whoever is let in to write; its renewals | with the release, or at the end of the lease |
 * | `<prefix>:locks:{<name>}:readers` | ZSET reader → end of its lease | whoever is let in to read; their renewals | with the last reader, or at the end of the last lease |
 * | `<prefix>:locks:{<name>}:rw-token` | STRING last fencing token of a reader or writer | every grant | 7 days after the last grant |
 * | `<prefix>:locks:{<name>}:rw-queue` | ZSET waiter → its place | readers and writers that wait, and their re-checks | with the last waiter, or 60 s after the last arrival or re-check |
 * | `<prefix>:locks:{<name>}:vote` | STRING member | whoever is given the vote of this node; its renewals | with the release, or at the end of the lease |
 *
 * Tokens follow the clock, so they go on rising when that key is gone. Waiters that are alive re-check after 1.6 s at
 * the latest, so their queue does not expire.
 *
 * `<prefix>:locks:{<name>}:grant:<contender>` is no key but a channel: grants go over it to the waiters of one
 * contender. It has the hash tag of the lock, because a script on Cluster publishes within its own slot only. The
 * scripts make its name from that of the lease; as an argument it would be 40 bytes in each release, most of which
 * wake nobody.
 *
 * `<prefix>:locks:{<name>}:latch-news` is a channel as well: it says that a latch has opened or was reset.
 *
 * `<prefix>:locks:{<name>}:vote-news` is a channel, too: it says that the vote of this node was given back.
 */
import { keySlot, KeySpace } from '@mortise/redis';

export class MutexKeys {
  readonly lease: string;
  readonly token: string;
  readonly queue: string;
  /** What stands before a contender's id in the name of its channel. */
  readonly channels: string;
  #slot: number | undefined;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    this.lease = entity.key('lease');
    this.token = entity.key('token');
    this.queue = entity.key('queue');
    this.channels = entity.key('grant', '');
  }

  get slot(): number {
    return (this.#slot ??= keySlot(this.lease));
  }
}

export class SemaphoreKeys {
  readonly permits: string;
  readonly queue: string;
  readonly state: string;
  /** As those of a mutex. */
  readonly channels: string;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    this.permits = entity.key('permits');
    this.queue = entity.key('permits-queue');
    this.state = entity.key('permits-state');
    this.channels = entity.key('permits-grant', '');
  }
}

export class ReadWriteLockKeys {
  readonly write: string;
  readonly readers: string;
  readonly token: string;
  readonly queue: string;
  /** As those of a mutex. */
  readonly channels: string;
  #slot: number | undefined;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    this.write = entity.key('write');
    this.readers = entity.key('readers');
    this.token = entity.key('rw-token');
    this.queue = entity.key('rw-queue');
    this.channels = entity.key('rw-grant', '');
  }

  get slot(): number {
    return (this.#slot ??= keySlot(this.write));
  }
}

export class RateLimiterKeys {
  readonly rate: string;
  #slot: number | undefined;

  constructor(name: string, prefix: string | undefined) {
    this.rate = new KeySpace('locks', prefix).entity(name).key('rate');
  }

  get slot(): number {
    return (this.#slot ??= keySlot(this.rate));
  }
}

export class CountDownLatchKeys {
  readonly latch: string;
  readonly ids: string;
  readonly news: string;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    this.latch = entity.key('latch');
    this.ids = entity.key('latch-ids');
    this.news = entity.key('latch-news');
  }
}

/** On each node of a quorum. */
export class QuorumMutexKeys {
  readonly vote: string;
  readonly news: string;
  readonly slot: number;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    this.vote = entity.key('vote');
    this.news = entity.key('vote-news');
    this.slot = keySlot(this.vote);
  }
}
