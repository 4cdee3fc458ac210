/** Schemas that mailboxes and chats share. */
import { MAX_NAME_BYTES } from '@mortise/redis';
import { z } from 'zod';

import { nameSchema } from '../http/id-schema.js';
import { digits } from '../http/digits.js';
import { limit } from '../http/page.js';
import { MAX_WAIT_MS } from '../http/wait-of.js';

/** A name in an answer: programs that use the package may have chosen any name. */
export const name = z.string();

export const count = z.int().min(0);
export const messageId = z
  .int()
  .min(1)
  .meta({ description: 'the id of the message: 1, 2, 3 … without gaps', examples: [42] });
export const upToId = z
  .int()
  .min(0)
  .meta({ description: 'all messages up to this one', examples: [42] });
export const instant = z.int().min(0).meta({ description: 'ms since the epoch' });

export const messageIdSchema = digits(1);
export const waitMs = digits(0, MAX_WAIT_MS)
  .default(0)
  .meta({ description: 'how long to wait for a message, default 0' });

/** The body of a message: any JSON value. */
export const body = z
  .unknown()
  .refine((value) => value !== undefined, 'is missing')
  .meta({
    description: 'any JSON, up to 65,536 bytes; a whole number that JavaScript would round is refused',
  });

/** The sender's id of a message, so that sending it again does nothing. */
export const senderId = nameSchema.optional().meta({
  description: 'identifies the message: if a sender sends it twice under one id, it is stored once',
});

export const range = z.object({ fromId: messageId, toId: messageId });
const dropped = range
  .optional()
  .meta({ description: 'messages that were dropped for this one, to stay within the limits' });

export const sentSchema = z
  .object({
    id: messageId,
    isDuplicate: z.boolean().meta({ description: 'the message was sent before, and is unchanged' }),
    dropped,
  })
  .meta({ id: 'Sent' });

export const status = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= MAX_NAME_BYTES, `must have at most ${MAX_NAME_BYTES} bytes`);

export { digits, limit };
