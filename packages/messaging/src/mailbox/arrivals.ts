/**
 * A follower of a mailbox learns that messages have arrived, not their content, so it moves no cursor and costs senders nothing. A
 * wake-up of `send` causes a look at the head of the mailbox, so arrivals between two looks are one event and none is lost.
 */
import { disposable, waitFor } from '@mortise/redis';
import type { MailboxesContext } from '../log/context.js';
import type { FollowMailboxOptions, MailboxPosition } from '../options.js';
import { resolveFollowMailboxOptions } from '../resolve-options.js';
import { Updates } from '../wait/updates.js';
import type { Status } from './status.js';

/** Messages have arrived, or the mailbox has a new numbering. */
export interface MailboxEvent extends MailboxPosition {
  /** `reset`: the given position is not of this numbering, since the mailbox was forgotten or a failover lost messages. */
  readonly type: 'arrived' | 'reset';
  /** Messages that not all devices have acked. */
  readonly unread: number;
}

/** A wake-up may be lost with a connection that nobody misses; the mailbox is looked at again after this time. */
const RECHECK_MS = 60_000;

export function followMailbox(
  context: MailboxesContext,
  status: Status,
  recipient: string,
  options: FollowMailboxOptions,
): AsyncGenerator<MailboxEvent, void> {
  const { wake } = context.keys.mailbox(recipient);
  return disposable(iterate(context, status, { recipient, wake, ...resolveFollowMailboxOptions(options) }));
}

async function* iterate(
  { hub }: MailboxesContext,
  status: Status,
  given: {
    readonly recipient: string;
    readonly wake: string;
    readonly after: MailboxPosition | undefined;
    readonly signal: AbortSignal | undefined;
  },
): AsyncGenerator<MailboxEvent, void> {
  const { recipient, wake, signal } = given;
  const updates = new Updates(hub, () => true);
  let known = given.after;
  try {
    signal?.throwIfAborted();
    // The look after the subscription finds messages that came before it.
    await waitFor(updates.listen([wake]), { signal });
    for (;;) {
      const { epoch, lastId, unread } = await waitFor(status.status(recipient), { signal });
      const type = known && changeOf(known, { epoch, lastId });
      known = { epoch, lastId };
      if (type) yield { type, epoch, lastId, unread };
      await updates.next(RECHECK_MS, signal);
    }
  } catch (error) {
    if (!signal?.aborted || error !== signal.reason) throw error;
  } finally {
    updates.close();
  }
}

function changeOf(known: MailboxPosition, now: MailboxPosition): MailboxEvent['type'] | undefined {
  const isOther = known.epoch !== null && known.epoch !== now.epoch;
  if (isOther || now.lastId < known.lastId) return 'reset';
  return now.lastId > known.lastId ? 'arrived' : undefined;
}
