/**
 * A lock for many readers or one writer. Both wait in one queue, first come, first served. A reader gets the lock at once
 * only while no writer holds it or waits for it. A writer's release grants it to all readers at the head of the queue
 * together. So a stream of readers cannot starve a writer, nor the reverse. Rejected: letting readers past a waiting
 * writer, as Redisson does; with overlapping readers, the writer never gets the lock.
 */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireName } from '@mortise/redis';
import { LockClient } from '../acquire/lock-client.js';
import { ReadWriteLockKeys } from '../keys.js';
import { Lease } from '../lease/lease.js';
import type { ReadWriteLockOptions } from '../options.js';
import { resolveReadWriteLockOptions } from '../options.js';
import { LockTelemetry } from '../telemetry/lock-telemetry.js';
import { LockSide } from './lock-side.js';
import { ReadWriteGate } from './read-write-gate.js';
import { WriteLease } from './write-lease.js';

/**
 * A lock that readers share and a writer has alone, with leases and fencing tokens for both.
 *
 * A writer can become a reader (`downgrade`). A reader cannot become a writer: two readers that tried would wait for each
 * other. A reader that acquires `write` waits for itself, until its own lease or `waitMs` ends. Release the read lock first,
 * then acquire `write`, and read again. The lock is not reentrant in any other way.
 *
 * An object is cheap, has no connection of its own and needs no closing. Objects with the same name and prefix are the same
 * lock. A Mutex of that name is another lock.
 */
export class ReadWriteLock {
  readonly name: string;
  /** The side of readers: any number hold it together while no writer holds the lock. */
  readonly read: LockSide;
  /** The side of a writer, who holds the lock alone. */
  readonly write: LockSide<WriteLease>;

  /** Throws TypeError or RangeError for a wrong client, name or option. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: ReadWriteLockOptions = {}) {
    this.name = requireName('name', name);
    const resolved = resolveReadWriteLockOptions(options);
    const keys = new ReadWriteLockKeys(name, options.prefix);
    const gate = new ReadWriteGate(requireClient(redis), keys, resolved.leaseMs);
    const client = LockClient.of(redis);
    const terms = { name, gate, ...resolved };
    const read = { ...terms, role: 'r', telemetry: LockTelemetry.of(options.telemetry, 'read') } as const;
    const write = { ...terms, role: 'w', telemetry: LockTelemetry.of(options.telemetry, 'write') } as const;
    this.read = new LockSide(client, read, (_, grant) => new Lease(read, grant));
    this.write = new LockSide(client, write, (_, grant) => new WriteLease(write, read, grant));
  }
}
