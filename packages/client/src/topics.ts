/** The topics of the API and their events. docs/service/events.md describes each. */

/** An event of a task or of a queue. Events without `id` concern the whole queue. */
export interface QueueEvent {
  readonly type:
    | 'enqueued'
    | 'started'
    | 'succeeded'
    | 'retrying'
    | 'dead'
    | 'cancelled'
    | 'waiting'
    | 'progress'
    | 'delivered'
    | 'ready'
    | 'rescheduled'
    | 'reprioritized'
    | 'changed'
    | 'removed'
    | 'paused'
    | 'resumed'
    | 'gap'
    | 'reset'
    | 'off'
    | 'unknown';
  /**
   * ms since the epoch, by the clock of the server. Absent for `reset`, and for `off`, which means that the events of the queue
   * are off.
   */
  readonly at?: number;
  readonly id?: string;
  readonly name?: string;
  readonly attempt?: number;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string };
  /** The name of an event that was delivered to the task, or for which it waits while it is retrying. */
  readonly event?: string;
  /** Absent if it has more than 512 bytes. */
  readonly progress?: unknown;
  /** For a gap: the number of lost events, if known. */
  readonly missed?: number;
}

/** A message of a chat. */
export interface ChatMessage {
  readonly id: number;
  readonly kind: 'message' | 'edit' | 'delete';
  /** The author of the message, edit or deletion. */
  readonly from: string;
  /** Absent for a deletion. */
  readonly body?: unknown;
  /** When the message was sent, ms since the epoch, by the clock of the server. */
  readonly sentAt: number;
  /** For an edit or a deletion: the id of the changed message. */
  readonly revises?: number;
}

/** An event of the chats of a member. */
export type ChatEvent = { readonly chatId: string } & (
  | { readonly type: 'message' | 'edit' | 'delete'; readonly epoch: number; readonly message: ChatMessage }
  | { readonly type: 'gap'; readonly epoch: number; readonly fromId: number; readonly toId: number }
  | { readonly type: 'reset'; readonly epoch: number }
  | { readonly type: 'joined' | 'left' | 'typing'; readonly member: string }
  | { readonly type: 'presence'; readonly member: string; readonly status: string }
  | { readonly type: 'ended' }
);

/** An event of a mailbox: messages have arrived, up to `lastId`. */
export type MailboxEvent =
  | { readonly type: 'arrived'; readonly epoch: number; readonly lastId: number; readonly unread: number }
  | { readonly type: 'reset' };

/** An event of a cache, caused by a request to the API. */
export type CacheEvent =
  | { readonly type: 'stored' | 'deleted'; readonly key: string }
  | { readonly type: 'invalidated'; readonly tag: string }
  | { readonly type: 'reset' };

/** An event of a lock, with its present state. */
export interface LockEvent {
  readonly type: 'lock' | 'reset';
  readonly holder?: string | null;
  readonly owner?: string | null;
  readonly fencingToken?: number;
  readonly remainingMs?: number;
  readonly queueLength?: number;
  readonly longestWaitMs?: number;
}

/** An event of the market, the overview, operations or Redis, or of a topic of a later version. */
export interface OtherEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The event of a topic by its text. */
export type TopicEvent<Topic extends string> = Topic extends `queue:${string}`
  ? QueueEvent
  : Topic extends `member:${string}`
    ? ChatEvent
    : Topic extends `mailbox:${string}`
      ? MailboxEvent
      : Topic extends `cache:${string}`
        ? CacheEvent
        : Topic extends `lock:${string}`
          ? LockEvent
          : OtherEvent;

type Kind =
  | 'queue'
  | 'member'
  | 'mailbox'
  | 'cache'
  | 'lock'
  | 'semaphore'
  | 'read-write-lock'
  | 'rate-limiter'
  | 'names'
  | 'operation';

/** The topic of a name, which may have any characters: `topicOf('queue', 'mails')`. */
export function topicOf<const K extends Kind>(kind: K, name: string): `${K}:${string}` {
  return `${kind}:${encodeURIComponent(name)}`;
}
