/** Requests and responses of the routes of chats and their members. */
import { z } from 'zod';

import { flag } from '../http/flag.js';
import { nameSchema } from '../http/id-schema.js';
import { longCursor, nextCursor } from '../http/page.js';
import {
  body,
  count,
  digits,
  instant,
  limit,
  messageId,
  name,
  range,
  senderId,
  status,
  upToId,
  waitMs,
} from './schemas.js';

/** The most members of one request: about what fits into a body of 128 KiB. */
const MAX_MEMBERS = 1_000;
const ROLES = ['owner', 'member', 'reader'] as const;

const role = z
  .enum(ROLES)
  .meta({ description: 'an owner may do everything, a member may post, a reader may read' });
const sender = nameSchema.meta({ description: 'a member of the chat' });

export const createBody = z
  .strictObject({
    sender: nameSchema.meta({ description: 'the creator of the chat, who owns it' }),
    members: z.array(nameSchema).max(MAX_MEMBERS).meta({ description: 'the other members' }),
    body: z.unknown().optional().meta({ description: 'the first message: any JSON' }),
    chatId: nameSchema.optional().meta({ description: 'Default: a UUID' }),
  })
  .meta({
    id: 'CreateChatBody',
    examples: [{ sender: 'frank', members: ['bill'], body: { text: 'Garage at eight?' } }],
  });

export const createdSchema = z
  .object({
    chatId: name,
    isNew: z.boolean().meta({ description: 'false if the chat existed; it is then unchanged' }),
    id: messageId.optional().meta({ description: 'the id of the first message' }),
  })
  .meta({ id: 'CreatedChat' });

export const membersQuery = z.strictObject({ cursor: longCursor, limit });

export const chatMembersSchema = z
  .object({
    items: z.array(
      z.object({
        member: name,
        ackedId: count.meta({ description: 'the member has acked everything up to this message' }),
        role,
      }),
    ),
    nextCursor,
  })
  .meta({ id: 'ChatMembers', description: 'A page of about as many members as the limit.' });

export const joinBody = z
  .strictObject({ role: role.default('member') })
  .meta({ id: 'JoinBody', examples: [{ role: 'reader' }] });

export const joinedSchema = z
  .object({
    isNew: z.boolean(),
    ackedId: count.meta({ description: 'the cursor: messages after this id are unread' }),
  })
  .meta({ id: 'Joined' });

export const roleBody = z
  .strictObject({
    role,
    by: nameSchema
      .optional()
      .meta({ description: 'The acting member, who must be an owner. Default: no check.' }),
  })
  .meta({ id: 'RoleBody', examples: [{ role: 'reader', by: 'frank' }] });

/** The epoch of an ack: ids may have begun anew since the read. */
export const ackEpoch = z.int().min(1).optional().meta({
  description: 'The epoch that came with the id. An id of another epoch is refused as `unknown-message`.',
});

export const cursorBody = z
  .strictObject({ upToId, epoch: ackEpoch })
  .meta({ id: 'CursorBody', examples: [{ upToId: 0 }] });

export const cursorSchema = z
  .object({ ackedId: count.meta({ description: 'the cursor, which never moves back' }) })
  .meta({ id: 'Cursor' });

export const postBody = z
  .strictObject({ sender, body, id: senderId })
  .meta({ id: 'PostBody', examples: [{ sender: 'frank', body: { text: 'Bring the tools.' } }] });

export const editBody = z
  .strictObject({ sender, body, id: senderId })
  .meta({ id: 'EditBody', examples: [{ sender: 'frank', body: { text: 'Bring your tools.' } }] });

export const deleteQuery = z.strictObject({
  sender: nameSchema.meta({ description: 'the acting member: the author, or an owner of the chat' }),
});

export const trimQuery = z.strictObject({
  upToId: digits(0).meta({ description: 'all messages up to this one' }),
});

export const trimmedSchema = z
  .object({
    dropped: range.nullable().meta({ description: 'The dropped ids. Null if no message was stored.' }),
  })
  .meta({ id: 'TrimmedChat' });

export const historyQuery = z
  .strictObject({
    before: digits(1).optional().meta({ description: 'only messages with lower ids; of these the newest' }),
    after: digits(0).optional().meta({ description: 'only messages with higher ids; of these the oldest' }),
    limit,
  })
  .refine(({ before, after }) => before === undefined || after === undefined, {
    path: ['after'],
    error: 'excludes before',
  });

const chatMessageSchema = z
  .object({
    id: messageId,
    kind: z.enum(['message', 'edit', 'delete']),
    from: name,
    body: z.unknown().optional().meta({ description: 'absent for a deletion' }),
    sentAt: instant,
    revises: messageId.optional().meta({ description: 'the message that is edited or deleted' }),
  })
  .meta({ id: 'ChatMessage' });

export const chatMessagesSchema = z
  .object({ items: z.array(chatMessageSchema) })
  .meta({ id: 'ChatMessages', description: 'The messages by ascending ids, without deleted ones.' });

export const typingBody = z
  .strictObject({ member: nameSchema })
  .meta({ id: 'TypingBody', examples: [{ member: 'frank' }] });

// Of members, across all their chats.

export const pendingQuery = z.strictObject({
  limit: limit.meta({ description: 'the most messages of each chat, default 50' }),
  waitMs,
  includeMuted: flag.default(false),
});

const position = {
  unread: count.meta({ description: 'messages after ackedId' }),
  lastId: count,
  ackedId: count,
  isMuted: z.boolean(),
  epoch: count.meta({ description: 'ids begin anew when a chat of this name is created again' }),
};

export const pendingSchema = z
  .object({
    items: z.array(
      z.object({
        chatId: name,
        messages: z.array(chatMessageSchema),
        ...position,
        gap: range.optional().meta({ description: 'the ids dropped after ackedId' }),
      }),
    ),
  })
  .meta({ id: 'Pending', description: 'Chats with unread messages; they come again until they are acked.' });

export const chatsQuery = z.strictObject({ includeMuted: flag.default(true) });

export const chatsSchema = z
  .object({
    items: z.array(
      z.object({
        chatId: name,
        ...position,
        lastAt: instant.meta({ description: 'when the last message was posted, or the chat was created' }),
      }),
    ),
  })
  .meta({ id: 'Chats', description: 'The chats in the order of joining.' });

export const muteBody = z
  .strictObject({
    untilMs: z.int().min(1).optional().meta({ description: 'Default: until the mute is ended' }),
  })
  .meta({ id: 'MuteBody', examples: [{ untilMs: 1_795_176_000_000 }] });

export const presenceBody = z
  .strictObject({ status: status.meta({ description: 'any text' }) })
  .meta({ id: 'PresenceBody', examples: [{ status: 'in the garage' }] });

export const eventsQuery = z.strictObject({
  after: z
    .string()
    .optional()
    .meta({ description: 'the id of an event: continues after it, as the header Last-Event-ID does' }),
  includeMuted: flag.default(false),
  includeUnread: flag.default(false).meta({
    description: 'events of messages have `unread`, the unread messages of the chat; default false',
  }),
});
