/** The order in which mails of different priorities leave, when the workers send one at a time. */
import { until } from '@mortise/test-kit';
import type { MailPeer } from '../mail-peer.js';
import type { ServiceClient } from './client.js';

const PLAYER = 'player0';
const SOLD = { sellerId: PLAYER, itemId: 'sword', price: 9 };

/** From the first to the last to leave. */
const KINDS = [
  { priority: 'high', name: 'mail.password-reset', payload: { playerId: PLAYER } },
  { priority: 'medium', name: 'mail.sold', payload: { ...SOLD, buyerId: PLAYER } },
  { priority: 'low', name: 'mail.expired', payload: SOLD },
];
const OF_EACH = 10;
const SENT_MS = 60_000;

/** Enqueues mails of all priorities, the low ones first, and returns their priorities in the order in which the peer got them. */
export async function orderOfMails(client: ServiceClient, peer: MailPeer): Promise<readonly string[]> {
  const before = peer.mails.length;
  await client.get('PUT', 'queues/mail', { body: { concurrency: 1 } });
  await client.get('POST', 'queues/mail/pause');
  for (const { priority, name, payload } of KINDS.toReversed()) {
    for (let n = 0; n < OF_EACH; n += 1) {
      const body = { id: `order-${priority}-${n}`, name, payload, priority };
      await client.get('POST', 'queues/mail/tasks', { body });
    }
  }
  await client.get('POST', 'queues/mail/resume');
  const count = before + KINDS.length * OF_EACH;
  await until('all mails', () => peer.mails.length >= count, SENT_MS);
  return peer.mails
    .slice(before)
    .map(({ source }) => /^message-id: <order-(\w+)-\d+@/im.exec(source.toString())?.[1] ?? '');
}

/** The order of the priorities. */
export const EXPECTED_ORDER = KINDS.flatMap(({ priority }) =>
  Array.from({ length: OF_EACH }, () => priority),
);
