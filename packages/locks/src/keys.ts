/**
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:locks:{<name>}:lease` | STRING holder | whoever is granted the lock; its renewals | with the release, or at the end of the lease |
 * | `<prefix>:locks:{<name>}:token` | STRING last fencing token | every grant | 7 days after the last grant |
 * | `<prefix>:locks:{<name>}:queue` | ZSET waiter → its place | waiters and their re-checks | with the last waiter, or 60 s after the last arrival or re-check |
 *
 * Tokens follow the clock, so they go on rising when that key is gone. Waiters that are alive re-check after 1.6 s at
 * the latest, so their queue does not expire.
 *
 * `<prefix>:locks:{<name>}:grant:<contender>` is no key but a channel: grants go over it to the waiters of one
 * contender. It has the hash tag of the lock, because a script on Cluster publishes within its own slot only. The
 * scripts make its name from that of the lease; as an argument it would be 40 bytes in each release, most of which
 * wake nobody.
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
