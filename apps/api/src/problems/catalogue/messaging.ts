import type { ProblemKind } from './problem-kind.js';

export const MESSAGING_PROBLEMS = {
  'unknown-chat': {
    status: 404,
    title: 'There is no such chat',
    when: 'Nobody created it, or its last member has left.',
    action: 'Create it.',
    fields: '`chatId`',
  },
  'unknown-message': {
    status: 404,
    title: 'There is no such message',
    when: "The id is beyond the last message of the mailbox or chat: it is of another one, or of one that was forgotten. Or the message that shall be edited or deleted isn't stored any more.",
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
    when: 'The acting member, or the member whose role shall change, is not in the chat.',
    action: 'Join.',
    fields: '`chatId`, `member`',
  },
  'read-only-member': {
    status: 403,
    title: 'The member may only read the chat',
    when: "Readers don't post.",
    fields: '`chatId`, `member`',
  },
  'not-allowed': {
    status: 403,
    title: 'Only the author, or an owner of the chat, may do this',
    when: 'Others edit no message; others but owners delete none; only owners change roles.',
    fields: '`chatId`, `member`',
  },
  'too-many-members': {
    status: 409,
    title: 'The chat has as many members as it may have',
    when: 'The chat would have more members than 10,000.',
    fields: '`chatId`, `members`, `maxMembers`',
  },
  'too-many-chats': {
    status: 409,
    title: 'A member is in as many chats as they may be',
    when: 'Somebody is in 1,000 chats, or has left as many within a minute.',
    action: 'Leave one.',
    fields: '`member`, `maxChats`',
  },
  'too-many-devices': {
    status: 409,
    title: 'The mailbox has as many devices as it may have',
    when: 'The recipient has 100 devices.',
    action: 'Remove one.',
    fields: '`recipient`, `maxDevices`',
  },
  'too-many-blocked': {
    status: 409,
    title: 'The mailbox has blocked as many senders as it may',
    when: 'The recipient has blocked 10,000 senders.',
    action: 'Unblock one.',
    fields: '`recipient`, `maxBlocked`',
  },
} as const satisfies Record<string, ProblemKind>;
