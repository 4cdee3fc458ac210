/** Requests and responses of the routes of mailboxes. */
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';
import { body, count, instant, limit, messageId, name, range, senderId, upToId, waitMs } from './schemas.js';

const YEAR_MS = 365 * 86_400_000;
const MAX_TTL_MS = 10 * YEAR_MS;

const device = nameSchema
  .default('main')
  .meta({ description: 'A device of the recipient. Each device has its own cursor.' });

export const sendBody = z
  .strictObject({
    from: nameSchema.meta({ description: 'the sender' }),
    body,
    id: senderId,
    ttlMs: z
      .int()
      .min(1)
      .max(MAX_TTL_MS)
      .optional()
      .meta({ description: 'how long the message can be delivered' }),
  })
  .meta({ id: 'SendBody', examples: [{ from: 'bill', body: { text: 'Is the sword still there?' } }] });

export const receiveQuery = z.strictObject({
  limit,
  order: z
    .enum(['oldest', 'latest'])
    .default('oldest')
    .meta({ description: 'the end of the mailbox to read from' }),
  waitMs,
  device,
});

export const mailboxMessagesSchema = z
  .object({
    items: z.array(
      z.object({
        id: messageId,
        from: name,
        body,
        sentAt: instant,
        droppedBefore: range
          .optional()
          .meta({ description: 'unread messages right before this one that were dropped' }),
      }),
    ),
  })
  .meta({
    id: 'MailboxMessages',
    description: 'Messages that the device has not acked; they come again until it acks them.',
  });

export const deviceQuery = z.strictObject({ device });

export const mailboxAckBody = z
  .strictObject({ upToId, device })
  .meta({ id: 'MailboxAckBody', examples: [{ upToId: 0 }] });

export const ackedSchema = z
  .object({ acked: count.meta({ description: 'the number of acked messages' }) })
  .meta({ id: 'Acked' });

const nullable = instant.nullable();
const deviceSchema = z.object({
  device: name,
  ackedId: count.meta({ description: 'everything up to this id is acked' }),
  unread: count,
  dropped: range.nullable().meta({ description: 'the ids dropped before this device acked them' }),
  lastFetchedAt: nullable.meta({ description: 'The last time at which it received. Null before the first.' }),
});

export const mailboxSchema = z
  .object({
    unread: count.meta({ description: 'messages that not all devices have acked' }),
    size: count.meta({ description: 'messages that are stored' }),
    sizeBytes: count,
    lastId: count,
    ackedId: count.meta({ description: 'all devices have acked everything up to this id' }),
    dropped: range.nullable().meta({ description: 'messages after ackedId that were dropped' }),
    lastReceivedAt: nullable.meta({ description: 'when the newest message was sent' }),
    oldestUnreadAt: nullable,
    lastFetchedAt: nullable,
    epoch: count.nullable().meta({ description: 'tells a mailbox from an earlier one of the same name' }),
    devices: z.array(deviceSchema).meta({ description: 'the slowest first' }),
  })
  .meta({ id: 'Mailbox', description: 'The statistics of a mailbox. An unused mailbox is empty.' });

export const devicesSchema = z.object({ items: z.array(deviceSchema) }).meta({ id: 'Devices' });

export const addDeviceBody = z
  .strictObject({
    at: z.enum(['newest', 'oldest']).default('newest').meta({
      description:
        '`newest`: the device gets messages from now on. `oldest`: the device also gets the stored messages.',
    }),
  })
  .meta({ id: 'AddDeviceBody', examples: [{ at: 'oldest' }] });

export const addedDeviceSchema = z
  .object({ device: name, isNew: z.boolean(), ackedId: count })
  .meta({ id: 'AddedDevice' });

export const blockedSchema = z.object({ items: z.array(z.object({ sender: name })) }).meta({ id: 'Blocked' });
