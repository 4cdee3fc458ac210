import type { ProblemKind } from './problem-kind.js';

export const MESSAGING_PROBLEMS = {
  'unknown-chat': {
    status: 404,
    title: 'There is no such chat',
    when: 'The chat was never created, or its last member has left.',
    action: 'Create the chat.',
    fields: '`chatId`',
  },
  'unknown-message': {
    status: 404,
    title: 'There is no such message',
    when: 'The id is above that of the last message. It belongs to another mailbox or chat, or to an earlier one that was forgotten. Or the message to edit or delete is no longer stored.',
    action: 'Read the mailbox or the chat again.',
    fields: '`recipient` (the mailbox or chat), `id`, `lastId`',
  },
  'unknown-device': {
    status: 404,
    title: 'The recipient has no such device',
    when: 'The recipient has no such device.',
    action: 'PUT the device.',
    fields: '`recipient`, `device`',
  },
  'sender-blocked': {
    status: 403,
    title: 'The recipient has blocked this sender',
    when: 'The recipient has blocked the sender.',
    fields: '`recipient`, `sender`',
  },
  'not-a-member': {
    status: 403,
    title: 'Only members of the chat may do this',
    when: 'The acting member, or the member whose role is to change, is not in the chat.',
    action: 'Join.',
    fields: '`chatId`, `member`',
  },
  'read-only-member': {
    status: 403,
    title: 'The member may only read the chat',
    when: "A member with the role of a reader can't post.",
    fields: '`chatId`, `member`',
  },
  'not-allowed': {
    status: 403,
    title: 'Only the author, or an owner of the chat, may do this',
    when: 'Only its author can edit a message. Only its author and owners can delete it. Only owners can change roles.',
    fields: '`chatId`, `member`',
  },
  'too-many-members': {
    status: 409,
    title: 'The chat has as many members as it may have',
    when: 'The chat would have more than 10,000 members.',
    fields: '`chatId`, `members`, `maxMembers`',
  },
  'too-many-chats': {
    status: 409,
    title: 'A member is in as many chats as they may be',
    when: 'The member is in 1,000 chats, or has left as many within a minute.',
    action: 'Leave a chat.',
    fields: '`member`, `maxChats`',
  },
  'too-many-devices': {
    status: 409,
    title: 'The mailbox has as many devices as it may have',
    when: 'The recipient has 100 devices.',
    action: 'Remove a device.',
    fields: '`recipient`, `maxDevices`',
  },
  'too-many-blocked': {
    status: 409,
    title: 'The mailbox has blocked as many senders as it may',
    when: 'The recipient has blocked 10,000 senders.',
    action: 'Unblock a sender.',
    fields: '`recipient`, `maxBlocked`',
  },
} as const satisfies Record<string, ProblemKind>;
