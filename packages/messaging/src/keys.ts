/**
 * Five entities: a mailbox by its recipient, a chat, a member (what is kept for them over all chats), a channel of files, and each
 * file, which has a slot of its own. Their parts have names of their own, so that all may be called alike.
 *
 * The head of a chat and the cursors of its members are one sorted set, since each key costs 100 B. Four members with
 * scores of at most 0 are the head and sort before all others; names are encoded, so none begins with a control character:
 *
 *   `\0b` -bytes stored (of no meaning while the log is empty) · `\0e` -epoch: instant of creation, ms since 1970 ·
 *   `\0l` -last id · `\0t` -instant of the last entry, ms since the epoch; 0 while there was none
 *
 * A member's score is their cursor (the last id that they acked) plus 1/4 for a reader, 1/2 for an owner; see `src/log/standing.ts`. So
 * the floor, the lowest cursor, is `ZRANGE chat 4 4 WITHSCORES` rounded down, and the number of members `ZCARD - 4`.
 * A mailbox is made alike, with the devices of its recipient for members.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:messaging:{<recipient>}:mailbox` | ZSET: the head; device → cursor | `send`, `ack`, `clear`, `addDevice`, `removeDevice`, `receive` | `retentionMs` + 7 days (or `dedupMs`, if more) after the last `send`, `receive` or `addDevice` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-log` | LIST of entries, the oldest first | `send`, `ack`, `clear`, `removeDevice` | what all devices have acked, at once; all of it `retentionMs` + 1/64 after the last `send` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-uncounted` | ZSET id → id: messages that have expired | all but `block` | with its entries, or three times `retentionMs` after the last of them expired |
 * | `<prefix>:messaging:{<recipient>}:mailbox-ids` | HASH: sender and their id → id | `send` | twice `dedupMs` after its first id |
 * | `<prefix>:messaging:{<recipient>}:mailbox-ids-before` | HASH: the generation before | `send` | as `mailbox-ids` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-expiring` | ZSET id → expires at, ms: messages with a `ttlMs` | `send`; all but `block` take from it | with its last message, or three times `retentionMs` after the last `send` with a `ttlMs` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-fetched` | HASH device → when it received last, ms | `receive` | with its last device, or as `mailbox` |
 * | `<prefix>:messaging:{<recipient>}:mailbox-blocked` | SET of senders, 10,000 at most | `block`, `unblock` | with its last sender |
 * | `<prefix>:messaging:{<recipient>}:mailbox-wake` | channel | `send`, to receivers that wait | holds nothing |
 * | `<prefix>:messaging:{<chatId>}:chat` | ZSET: the head; member → cursor and role | `create`, `post`, `ack`, `join`, `leave`, `setRole`, `edit`, `delete` | with its last member |
 * | `<prefix>:messaging:{<chatId>}:log` | LIST of entries, the oldest first, see `src/log/entry.ts` | `create`, `post`, `ack`, `leave`, `edit`, `delete` | what all have acked, at once; all of it `retentionMs` + 1/64 after the last `post` |
 * | `<prefix>:messaging:{<chatId>}:uncounted` | ZSET id → id: what doesn't count as unread (edits, deletions, deleted messages) | `edit`, `delete`, `leave` | what lies before the log, at the next of these; or twice `retentionMs` after the last `edit` or `delete` |
 * | `<prefix>:messaging:{<chatId>}:joined` | ZSET member → the id behind which they joined, where older ones were stored then | `join`, `leave` | a member when they leave, or at a `join` once nothing older is stored; or twice `retentionMs` after the last `join` |
 * | `<prefix>:messaging:{<chatId>}:ids` | HASH: sender and their id → id | `create`, `post`, `edit`, `delete` | twice `dedupMs` after its first id |
 * | `<prefix>:messaging:{<chatId>}:ids-before` | HASH: the generation before | `post`, `edit`, `delete` | as `ids` |
 * | `<prefix>:messaging:{<chatId>}:ended` | STRING: the epoch of the chat of this name that ended last | `leave` of the last member | an hour after that, or after its epoch where that is later |
 * | `<prefix>:messaging:{<chatId>}:left` | ZSET member → instant of the index entry that goes with their leaving, ms: a slower `join` or `create` under that entry is refused and indexes again | `leave`; `join`, `create` that were refused | a minute after the last of them |
 * | `<prefix>:messaging:{<chatId>}:events` | channel of frames, see `src/follow/frame.ts` | `create`, `post`, `edit`, `delete`, `join`, `leave`; `typing`, `presence` | holds nothing |
 * | `<prefix>:messaging:{<member>}:chats` | ZSET chat → instant of joining, ms: a superset of the chats that have the member | `create`, `join`, `leave`; readers remove entries that a crash left | with its last chat |
 * | `<prefix>:messaging:{<member>}:mutes` | HASH chat → muted until, ms; 0: for ever | `mute`, `unmute`, `leave`, `create`, `join` | with its last chat |
 * | `<prefix>:messaging:{<member>}:member-events` | channel: `c` and a chat that was added; `u`, mutes were changed | `create`, `join`; `mute`, `unmute` | holds nothing |
 * | `<prefix>:messaging:{<channel>}:file-channel` | HASH: epoch (of this making of the channel), last number, bytes reserved, whether it has ended, `ttlMs`, leases of receivers, and who has left while files were listed | `send`, `end`, `files`, `join`, `leave` | a minute after the last file of a channel that has ended, or `ttlMs` after its last use by a sender or receiver |
 * | `<prefix>:messaging:{<channel>}:files` | ZSET id → number: files that are listed, and the last 10,000 before them | `send` | as `file-channel` |
 * | `<prefix>:messaging:{<channel>}:files-listed` | HASH number → `<bytes reserved>:<instant>:<ttlMs>:<epoch>:<fileId>:<name>` | `send`, `done`, `fail` | a file when all receivers are done with it; all as `file-channel` |
 * | `<prefix>:messaging:{<channel>}:files-done` | SET of `<number>:<receiver>` | `done`, `fail` | with their files |
 * | `<prefix>:messaging:{<channel>}:file-receivers` | ZSET receiver → end of its lease, ms | `send`, `files`, `join`, `leave` | with the last file of a channel that has ended, or as `file-channel` |
 * | `<prefix>:messaging:{<channel>}:files-sent` | HASH id → SHA-256 and name of what was sent under it | `send` with an `id` | as `files`; a field with the id in there |
 * | `<prefix>:messaging:{<channel>}:files-events` | channel: something has changed | `send`, `done`, `fail`, `end` | holds nothing |
 * | `<prefix>:messaging:{<channel>%%<number>}:file:<fileId>` | HASH: the head of a file, see `src/files/file-state.ts` | `send`, `ack`, `done`, `fail` | when all receivers are done, or `ttlMs` after the last chunk |
 * | `<prefix>:messaging:{<channel>%%<number>}:file-cursors:<fileId>` | ZSET receiver → chunk · 2^23 + bytes of it | `send`, `ack`, `done`, `fail` | with its last receiver, or as `file` |
 * | `<prefix>:messaging:{<channel>%%<number>}:chunk:<fileId>.<token>.<n>` | STRING, see `src/files/chunk.ts`; empty until it is written | `send` | when all receivers have passed it, or after `ttlMs` |
 * | `<prefix>:messaging:{<channel>%%<number>}:file-events:<fileId>` | channel: how far the file is written and freed | `send`, `ack`, `done`, `fail` | holds nothing |
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

/** The keys of one member: what spans the chats. */
export interface MemberKeys {
  readonly chats: string;
  readonly mutes: string;
  readonly events: string;
}

/** The keys of one channel of files. The channel is the entity: one channel, one slot. */
export interface FileChannelKeys {
  readonly head: string;
  readonly files: string;
  readonly listed: string;
  readonly done: string;
  readonly receivers: string;
  readonly sent: string;
  readonly events: string;
}

/** The keys of one file of a channel. The file is the entity: one file, one slot. */
export interface FileKeys {
  readonly file: string;
  readonly cursors: string;
  readonly events: string;
  /** Of the chunk `index`, as the writer with that token wrote it. */
  chunk(token: number, index: number): string;
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

  fileChannel(channel: string): FileChannelKeys {
    const entity = this.#space.entity(channel, 'channel');
    return {
      head: entity.key('file-channel'),
      files: entity.key('files'),
      listed: entity.key('files-listed'),
      done: entity.key('files-done'),
      receivers: entity.key('file-receivers'),
      sent: entity.key('files-sent'),
      events: entity.key('files-events'),
    };
  }

  /**
   * Numbers begin at 1 again when a channel is forgotten, and a failover that forgets a listed file gives its number to another one; with what its
   * sender has drawn for it, no two files ever have the same keys.
   */
  file(channel: string, number: number, fileId: string): FileKeys {
    const entity = this.#space.entity(channel, 'channel', number);
    return {
      file: entity.key('file', fileId),
      cursors: entity.key('file-cursors', fileId),
      events: entity.key('file-events', fileId),
      chunk: (token, index) => entity.key('chunk', `${fileId}.${token}.${index}`),
    };
  }
}
