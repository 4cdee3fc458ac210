/**
 * | Key | Of | Type | Written by | Goes away |
 * |---|---|---|---|---|
 * | `<prefix>:locks:{<name>}:lease` | Mutex, MultiLock | STRING holder | grants of the lock; renewals | with the release, or at the end of the lease |
 * | `<prefix>:locks:{<name>}:token` | Mutex, MultiLock | STRING last fencing token | every grant | 7 days after it was made; the next grant makes it again |
 * | `<prefix>:locks:{<name>}:queue` | Mutex, MultiLock | ZSET waiter → its place | waiters and their rechecks | with the last waiter, or 60 s after the last arrival or recheck |
 * | `<prefix>:locks:{<name>}:rate` | RateLimiter | STRING instant at which the whole burst remains, id and options of the last call | allowed takes | at that instant |
 * | `<prefix>:locks:{<name>}:latch` | CountDownLatch | HASH epoch, count, remaining | count-downs; waiters and their checks | `keepMs` after the last of them, or after it opened |
 * | `<prefix>:locks:{<name>}:latch-ids` | CountDownLatch | SET ids that have counted | count-downs with an id | when the latch opens, or with it |
 * | `<prefix>:locks:{<name>}:permits` | Semaphore | ZSET holder → end of its lease | grants of permits; renewals | with the last holder, or 7 days after the last grant or renewal |
 * | `<prefix>:locks:{<name>}:permits-queue` | Semaphore | ZSET waiter → its place | waiters for permits and their rechecks | with the last waiter, or 60 s after the last arrival or recheck |
 * | `<prefix>:locks:{<name>}:permits-state` | Semaphore | STRING limit, used permits, clock | every change of a semaphore | 7 days after the last grant, renewal or `setPermits` |
 * | `<prefix>:locks:{<name>}:write` | ReadWriteLock | STRING the writer of a read-write lock | grants to a writer; its renewals | with the release, or at the end of the lease |
 * | `<prefix>:locks:{<name>}:readers` | ReadWriteLock | ZSET reader → end of its lease | grants to readers; their renewals | with the last reader, or at the end of the last lease |
 * | `<prefix>:locks:{<name>}:rw-token` | ReadWriteLock | STRING last fencing token of a reader or writer | every grant | 7 days after the last grant |
 * | `<prefix>:locks:{<name>}:rw-queue` | ReadWriteLock | ZSET waiter → its place | waiting readers and writers, and their rechecks | with the last waiter, or 60 s after the last arrival or recheck |
 * | `<prefix>:locks:{<name>}:vote` | QuorumMutex | STRING member | the vote of this node; renewals | with the release, or at the end of the lease |
 *
 * Tokens follow the clock, so they still rise when their key is gone. Living waiters recheck after 1.6 s at the latest, so
 * their queue does not expire.
 *
 * Three names are channels, not keys. `…:grant:<client>` carries grants to the waiters of one client. It has the hash tag
 * of the lock, because a script on Cluster publishes within its own slot only. The scripts derive its name from the key of
 * the lease. As an argument it would add 40 bytes to each release, and most releases wake nobody. `…:latch-updates` says
 * that a latch has opened or was reset, `…:vote-updates` that the vote of this node was given back.
 */
import type { EntityKeys } from '@mortise/redis';
import { keySlot, KeySpace } from '@mortise/redis';

/** The keys of a lock with a queue. */
class LockKeys {
  readonly slot: number;
  readonly queue: string;
  /** The names of the channels, without the id of the client. */
  readonly channels: string;

  /** @param kind The first part of its queue and channels. */
  constructor(entity: EntityKeys, kind: '' | 'permits-' | 'rw-') {
    this.queue = entity.key(`${kind}queue`);
    this.slot = keySlot(this.queue);
    this.channels = entity.key(`${kind}grant`, '');
  }
}

export class MutexKeys extends LockKeys {
  readonly lease: string;
  readonly token: string;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    super(entity, '');
    this.lease = entity.key('lease');
    this.token = entity.key('token');
  }
}

export class SemaphoreKeys extends LockKeys {
  readonly permits: string;
  readonly state: string;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    super(entity, 'permits-');
    this.permits = entity.key('permits');
    this.state = entity.key('permits-state');
  }
}

export class ReadWriteLockKeys extends LockKeys {
  readonly write: string;
  readonly readers: string;
  readonly token: string;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    super(entity, 'rw-');
    this.write = entity.key('write');
    this.readers = entity.key('readers');
    this.token = entity.key('rw-token');
  }
}

export class RateLimiterKeys {
  readonly rate: string;
  readonly slot: number;

  constructor(name: string, prefix: string | undefined) {
    this.rate = new KeySpace('locks', prefix).entity(name).key('rate');
    this.slot = keySlot(this.rate);
  }
}

export class CountDownLatchKeys {
  readonly latch: string;
  readonly ids: string;
  readonly updates: string;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    this.latch = entity.key('latch');
    this.ids = entity.key('latch-ids');
    this.updates = entity.key('latch-updates');
  }
}

/** On each node of a quorum. */
export class QuorumMutexKeys {
  readonly vote: string;
  readonly updates: string;
  readonly slot: number;

  constructor(name: string, prefix: string | undefined) {
    const entity = new KeySpace('locks', prefix).entity(name);
    this.vote = entity.key('vote');
    this.updates = entity.key('vote-updates');
    this.slot = keySlot(this.vote);
  }
}
