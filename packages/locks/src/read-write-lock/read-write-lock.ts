/**
 * Many may read, or one may write. There is one queue for both, first come, first served: a reader gets in at once only
 * while no writer holds the lock or waits for it, and when a writer leaves, all readers at the head of the queue come in
 * together. So a stream of readers cannot starve a writer, nor the reverse. Rejected: letting readers in past a writer
 * that waits, which is what Redisson does; with readers that overlap the writer never gets its turn.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireName } from '@mortise/redis';
import { ReadWriteLockKeys } from '../keys.js';
import { Lease } from '../lease.js';
import type { ReadWriteLockOptions } from '../options.js';
import { resolveReadWriteLockOptions } from '../options.js';
import { Contender } from '../waiting/contender.js';
import { LockSide } from './lock-side.js';
import { ReadWriteGate } from './read-write-gate.js';
import { WriteLease } from './write-lease.js';

/**
 * A lock that readers share and a writer has alone, with leases and fencing tokens for both.
 *
 * A writer can become a reader (`downgrade`); a reader cannot become a writer: two readers that both wanted to would
 * wait for each other for ever. Who reads and acquires `write` waits for itself, until its own lease or `waitMs` ends;
 * release the read lock first, acquire `write`, and look again at what was read. Not reentrant otherwise either.
 *
 * An object is cheap, has no connection of its own and needs no closing; objects with the same name and prefix are
 * the same lock. A Mutex of that name is another lock.
 */
export class ReadWriteLock {
  readonly name: string;
  /** The lock for readers: any number hold it together, while no writer does. */
  readonly read: LockSide;
  /** The lock for a writer: while it is held nobody else holds it, neither to read nor to write. */
  readonly write: LockSide<WriteLease>;

  /** Throws TypeError or RangeError for a client, name or option that cannot be used. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: ReadWriteLockOptions = {}) {
    this.name = requireName('name', name);
    const resolved = resolveReadWriteLockOptions(options);
    const keys = new ReadWriteLockKeys(name, options.prefix);
    const gate = new ReadWriteGate(requireClient(redis), keys, resolved.leaseMs);
    const terms = { name, gate, ...resolved };
    const contender = Contender.of(redis);
    this.read = new LockSide(contender, { ...terms, role: 'r' }, (grant) => new Lease(terms, grant));
    this.write = new LockSide(contender, { ...terms, role: 'w' }, (grant) => new WriteLease(terms, grant));
  }
}
