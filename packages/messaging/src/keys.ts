/**
 * Three entities: a mailbox by its recipient, a chat, and a member (their data across all chats). The names of their parts
 * differ, so a recipient, a chat and a member may have the same name. Keys of files are in `src/files/keys.ts`.
 *
 * The head of a chat and the cursors of its members are one sorted set, since each key costs 100 B. Four members with scores
 * of at most 0 are the head and sort before all others. Names are encoded, so none begins with a control character.
 *
 *   `\0b` -bytes stored (meaningless while the log is empty) · `\0e` -epoch: instant of creation, ms since 1970 ·
 *   `\0l` -last id · `\0t` -instant of the last entry, ms since the epoch; 0 while there was none
 *
 * A member's score is their cursor (the last id that they acked) plus 1/4 for a reader, 1/2 for an owner; see
 * `src/log/score.ts`. So the floor, the lowest cursor, is `ZRANGE chat 4 4 WITHSCORES` rounded down, and the number of
 * members `ZCARD - 4`. A mailbox has the same form, with the devices of its recipient as members.
 *
 * ## Mailboxes
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:messaging:{<recipient>}:mailbox` | ZSET: the head; device → cursor | `send`, `ack`, `clear`, `addDevice`, `removeDevice`, `receive` | `keepMs` + 7 days (or `dedupMs`, if more) after the last `send`, `receive` or `addDevice` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-log` | LIST of entries, the oldest first | `send`, `ack`, `clear`, `removeDevice` | what all devices have acked, at once; all of it `keepMs` + 1/64 after the last `send` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-uncounted` | ZSET id → id: messages that have expired | all but `block` | with its entries, or three times `keepMs` after the last of them expired |
 * | `<prefix>:messaging:{<recipient>}:mailbox-ids` | HASH: sender and their id → id | `send` | twice `dedupMs` after its first id |
 * | `<prefix>:messaging:{<recipient>}:mailbox-ids-before` | HASH: the generation before | `send` | as `mailbox-ids` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-expiring` | ZSET id → expires at, ms: messages with a `ttlMs` | `send`; all but `block` take from it | with its last message, or three times `keepMs` after the last `send` with a `ttlMs` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-fetched` | HASH device → when it received last, ms | `receive` | with its last device, or as `mailbox` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-blocked` | SET of senders, 10,000 at most | `block`, `unblock` | with its last sender |
 * | `<prefix>:messaging:{<recipient>}:mailbox-wake` | channel | `send`, to receivers that wait | holds nothing |
 *
 * ## Chats
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:messaging:{<chatId>}:chat` | ZSET: the head; member → cursor and role | `create`, `post`, `ack`, `join`, `leave`, `setRole`, `edit`, `delete` | with its last member |
 * | `<prefix>:messaging:{<chatId>}:log` | LIST of entries, the oldest first, see `src/log/entry.ts` | `create`, `post`, `ack`, `leave`, `edit`, `delete` | what all have acked, at once; all of it `keepMs` + 1/64 after the last `post` |
 * | `<prefix>:messaging:{<chatId>}:uncounted` | ZSET id → id: what doesn't count as unread (edits, deletions, deleted messages) | `edit`, `delete`, `leave` | what lies before the log, at the next of these; or twice `keepMs` after the last `edit` or `delete` |
 * | `<prefix>:messaging:{<chatId>}:joined` | ZSET member → the id after which they joined, where older ones were stored then | `join`, `leave` | a member when they leave, or at a `join` once nothing older is stored; or twice `keepMs` after the last `join` |
 * | `<prefix>:messaging:{<chatId>}:ids` | HASH: sender and their id → id | `create` with an `id`, `post`, `edit`, `delete` | twice `dedupMs` after its first id |
 * | `<prefix>:messaging:{<chatId>}:ids-before` | HASH: the generation before | `post`, `edit`, `delete` | as `ids` |
 * | `<prefix>:messaging:{<chatId>}:ended` | STRING: the epoch of the chat of this name that ended last | `leave` of the last member | an hour after that, or after its epoch where that is later |
 * | `<prefix>:messaging:{<chatId>}:left` | ZSET member → instant of the index entry that goes with their leaving, ms: a slower `join` or `create` under that entry is refused and indexes again | `leave`; `join`, `create` that were refused | a minute after the last of them |
 * | `<prefix>:messaging:{<chatId>}:events` | channel of frames, see `src/follow/frame.ts` | `create`, `post`, `edit`, `delete`, `join`, `leave`; `typing`, `presence` | holds nothing |
 *
 * ## Members
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:messaging:{<member>}:chats` | ZSET chat → instant of joining, ms: a superset of the chats that have the member | `create`, `join`, `leave`; readers remove entries that a crash left | with its last chat |
 * | `<prefix>:messaging:{<member>}:mutes` | HASH chat → muted until, ms; 0: for ever | `mute`, `unmute`, `leave`, `create`, `join` | with its last chat |
 * | `<prefix>:messaging:{<member>}:member-events` | channel: `c` and a chat that was added; `u`, mutes were changed | `create`, `join`; `mute`, `unmute` | holds nothing |
 */
import { KeySpace } from '@mortise/redis';

/** The keys of one mailbox. The recipient is the entity: one mailbox, one slot. */
export interface MailboxKeys {
  readonly mailbox: string;
  readonly log: string;
  readonly uncounted: string;
  readonly ids: string;
  readonly oldIds: string;
  readonly expiring: string;
  readonly fetched: string;
  readonly blocked: string;
  readonly wake: string;
}

/** The keys of one chat. The chat is the entity: one chat, one slot. */
export interface ChatKeys {
  readonly chat: string;
  readonly log: string;
  readonly uncounted: string;
  readonly joined: string;
  readonly ids: string;
  readonly oldIds: string;
  readonly ended: string;
  readonly left: string;
  readonly events: string;
}

/** The keys of one member, for data across their chats. */
export interface MemberKeys {
  readonly chats: string;
  readonly mutes: string;
  readonly events: string;
}

export class MessagingKeys {
  readonly #space: KeySpace;

  constructor(prefix: string | undefined) {
    this.#space = new KeySpace('messaging', prefix);
  }

  mailbox(recipient: string): MailboxKeys {
    const entity = this.#space.entity(recipient, 'recipient');
    return {
      mailbox: entity.key('mailbox'),
      log: entity.key('mailbox-log'),
      uncounted: entity.key('mailbox-uncounted'),
      ids: entity.key('mailbox-ids'),
      oldIds: entity.key('mailbox-ids-before'),
      expiring: entity.key('mailbox-expiring'),
      fetched: entity.key('mailbox-fetched'),
      blocked: entity.key('mailbox-blocked'),
      wake: entity.key('mailbox-wake'),
    };
  }

  chat(chatId: string): ChatKeys {
    const entity = this.#space.entity(chatId, 'chatId');
    return {
      chat: entity.key('chat'),
      log: entity.key('log'),
      uncounted: entity.key('uncounted'),
      joined: entity.key('joined'),
      ids: entity.key('ids'),
      oldIds: entity.key('ids-before'),
      ended: entity.key('ended'),
      left: entity.key('left'),
      events: entity.key('events'),
    };
  }

  member(member: string): MemberKeys {
    const entity = this.#space.entity(member, 'member');
    return {
      chats: entity.key('chats'),
      mutes: entity.key('mutes'),
      events: entity.key('member-events'),
    };
  }
}
