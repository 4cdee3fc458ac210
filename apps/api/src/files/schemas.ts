/** Requests and responses of the routes of files. */
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';
import { flag } from '../http/flag.js';
import { count, digits, instant, limit, name, waitMs } from '../messaging/schemas.js';

const MAX_NAME_BYTES = 1_024;

/**
 * A receiver may store a file under its name, so a name leads to no other folder: parts with `/` between them, none of them empty,
 * `.` or `..`, and no character with a meaning for terminals, file systems or headers.
 */
const fileName = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= MAX_NAME_BYTES, `must have at most ${MAX_NAME_BYTES} bytes`)
  .refine(
    (text) => !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\]/u.test(text),
    'must have neither control characters nor \\',
  )
  .refine(
    (text) => text.split('/').every((part) => part !== '' && part !== '.' && part !== '..'),
    'must have no part that is empty, . or ..',
  );

const receiver = nameSchema.meta({ description: 'a receiver of the channel' });

export const uploadQuery = z.strictObject({
  name: fileName.meta({ description: 'The name that receivers see. Its parts may be separated by `/`.' }),
});

export const listQuery = z.strictObject({
  receiver,
  after: digits(0).default(0).meta({ description: 'only files with higher numbers; default 0' }),
  limit,
  waitMs,
});

export const fileQuery = z.strictObject({
  receiver: receiver.optional().meta({ description: 'the receiver whose `ackedBytes` are returned' }),
});

export const contentQuery = z.strictObject({
  receiver,
  waitMs: waitMs.meta({
    description:
      'How long to wait for more bytes, for a Range at the end of a file that is being written. Default 0.',
  }),
  autoAck: flag.default(false).meta({
    description:
      'Acks bytes that left the server 8 MiB ago, so that the sender can continue. Without it only acks free ' +
      'room.',
  }),
});

export const ackBody = z
  .strictObject({
    receiver,
    upTo: z.int().min(0).optional().meta({
      description: 'All bytes before this one are handled. After a restart, reading continues here.',
    }),
    isDone: z
      .literal(true)
      .optional()
      .meta({ description: 'the file is handled or given up, and does not come again' }),
  })
  .refine(({ upTo, isDone }) => (upTo === undefined) !== (isDone === undefined), {
    path: ['upTo'],
    error: 'or isDone has to be there, and not both',
  })
  .meta({ id: 'AckFileBody', examples: [{ receiver: 'worker-1', isDone: true }] });

const fileId = z.string().meta({ description: 'the address of the file', examples: ['logs:pG3x_f0aKq1Z:7'] });
const sha256 = z.string().meta({ description: 'the SHA-256 of the whole file, in hex' });
const fileNumber = z.int().min(1).meta({ description: 'the place of the file in the channel: 1, 2, 3 …' });

export const uploadedSchema = z
  .object({
    id: fileId,
    number: fileNumber,
    name,
    isDuplicate: z.boolean().meta({ description: 'the file was sent before; nothing of this body was read' }),
    bytes: count.optional().meta({ description: 'absent for a duplicate' }),
    sha256: sha256.optional().meta({ description: 'absent for a duplicate' }),
    resumedAt: count
      .optional()
      .meta({ description: 'the number of bytes that an earlier, broken upload had sent' }),
  })
  .meta({ id: 'UploadedFile' });

export const fileSchema = z
  .object({
    id: fileId,
    number: fileNumber,
    name,
    state: z.enum(['open', 'closed', 'aborted']).meta({
      description:
        '`open`: the file is being written. `aborted`: the file was given up, and is not complete.',
    }),
    bytes: count.meta({ description: 'the bytes so far' }),
    listedAt: instant,
    sha256: sha256.optional(),
    reason: z.string().optional().meta({ description: 'why the file was given up' }),
    ackedBytes: count
      .optional()
      .meta({ description: 'The acked bytes of the given receiver. Absent when the receiver is done.' }),
  })
  .meta({ id: 'File' });

export const filesSchema = z
  .object({
    items: z.array(fileSchema),
    isEnded: z.boolean().meta({ description: 'no more files will come' }),
  })
  .meta({ id: 'Files', description: 'The files that the receiver is not done with, by ascending numbers.' });

const receiverSchema = z.object({
  receiver: name,
  isActive: z.boolean().meta({ description: 'the receiver was active within the last minute' }),
});

export const receiversSchema = z
  .object({ items: z.array(receiverSchema) })
  .meta({ id: 'Receivers', description: 'Sorted by name.' });

export const channelStatusQuery = z.strictObject({
  after: digits(0).default(0).meta({ description: 'only files with higher numbers; default 0' }),
  limit,
});

export const channelSchema = z
  .object({
    isEnded: z.boolean().meta({ description: 'the channel takes no more files' }),
    listed: count.meta({ description: 'files that some receiver is not done with' }),
    storedBytes: count.meta({ description: 'the bytes of all files in Redis' }),
    receivers: z.array(receiverSchema),
    files: z.array(
      fileSchema.omit({ ackedBytes: true }).extend({
        storedBytes: count.meta({ description: 'the bytes in Redis' }),
        pending: count.meta({ description: 'the receivers that are not done with the file' }),
        slowest: z
          .array(z.object({ receiver: name, ackedBytes: count }))
          .meta({ description: 'the ten slowest of these receivers, the slowest first' }),
      }),
    ),
  })
  .meta({ id: 'FileChannel', description: 'The files of the channel, by ascending numbers.' });

export const joinedChannelSchema = z
  .object({ receiver: name, isNew: z.boolean() })
  .meta({ id: 'JoinedChannel' });
