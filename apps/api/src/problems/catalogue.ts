/**
 * Every problem that the API answers with (RFC 9457). `type` is `PROBLEM_BASE` and the slug, and is what clients branch
 * on; it never changes. docs/PROBLEMS.md is the same list with what to do about each, and a test compares the two.
 *
 * Refusals of the market, of locks, of queues, of messaging and of address books come by their code: ERR_PRICE_CHANGED is `price-changed`.
 */
export const PROBLEM_BASE = 'https://mortise.dev/problems/';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

export const CATALOGUE = {
  // The request itself.
  'malformed-request': { status: 400, title: 'The request is not HTTP that the server understands' },
  'malformed-url': { status: 400, title: 'The address of the request cannot be decoded' },
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  'invalid-body': { status: 400, title: 'The body is not what the route takes' },
  'invalid-query': { status: 400, title: 'The query is not what the route takes' },
  'invalid-id': { status: 400, title: 'An id has characters or a length that ids cannot have' },
  'invalid-cursor': { status: 400, title: 'The cursor is not from a page of this list' },
  'invalid-idempotency-key': { status: 400, title: 'The header Idempotency-Key is not a key' },
  'foreign-host': { status: 403, title: 'The API is not served under this host name' },
  'unknown-route': { status: 404, title: 'There is nothing at this address' },
  'method-not-allowed': { status: 405, title: 'The address does not take this method' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'body-too-large': { status: 413, title: 'The body is larger than the route takes' },
  'unsupported-media-type': { status: 415, title: 'The body is of a type that the route does not take' },
  'expectation-failed': { status: 417, title: 'The server meets no expectation but 100-continue' },
  'headers-too-large': {
    status: 431,
    title: 'The head of the request has more than 16 KiB, or too many headers',
  },

  // The caller.
  unauthenticated: { status: 401, title: 'The request has no valid credential' },
  'scope-missing': { status: 403, title: 'The credential lacks the scope of the route' },
  'subject-mismatch': { status: 403, title: 'The credential acts for somebody else' },
  'key-set-unavailable': { status: 503, title: 'The keys of the issuer of tokens cannot be fetched' },
  'unknown-key': { status: 404, title: 'There is no such API key' },
  'too-many-keys': { status: 409, title: 'There are as many API keys as there may be' },
  'too-many-secrets': { status: 409, title: 'The API key has as many secrets as it may have' },
  'other-tenant': { status: 409, title: 'The API key belongs to another tenant' },
  'unknown-tenant': { status: 404, title: 'There is no such tenant' },
  'too-many-tenants': { status: 409, title: 'There are as many tenants as there may be' },
  'tenant-in-use': { status: 409, title: 'The tenant has API keys' },

  // The market.
  'unknown-player': { status: 404, title: 'There is no such player' },
  'unknown-item': { status: 404, title: 'There is no such item' },
  'unknown-listing': { status: 404, title: 'There is no such listing' },
  'unknown-sale': { status: 404, title: 'There is no such sale' },
  'not-seller': { status: 403, title: 'The listing is of another player' },
  'item-taken': { status: 409, title: 'The item belongs to somebody already' },
  'item-listed': { status: 409, title: 'The item is in a listing already' },
  'not-owner': { status: 409, title: 'The item is not in the inventory of the seller' },
  'already-sold': { status: 409, title: 'The listing has been sold' },
  'own-listing': { status: 409, title: 'Nobody buys from themselves' },
  'not-open': { status: 409, title: 'The listing is for sale later' },
  'listing-expired': { status: 409, title: 'The time of the listing is over' },
  'price-changed': { status: 409, title: 'The listing costs something else' },
  'insufficient-funds': { status: 409, title: 'The buyer has too little money' },
  'funds-overflow': { status: 409, title: 'The seller would have more money than is counted' },
  'stale-token': { status: 409, title: 'The lock of the listing was lost, and somebody else has written' },
  'request-reused': { status: 422, title: 'The Idempotency-Key came before with another request' },
  'rate-limited': { status: 429, title: 'Too many of these requests' },

  // Tasks and queues.
  'unknown-task': { status: 404, title: 'There is no such task' },
  'unknown-queue': { status: 404, title: 'There is no such queue' },
  'unknown-schedule': { status: 404, title: 'The queue has no such schedule' },
  'invalid-if-match': { status: 400, title: 'The header If-Match has no entity tags' },
  'invalid-payload': { status: 400, title: 'The payload cannot be stored' },
  'invalid-schedule': { status: 400, title: 'The rule of the schedule is none' },
  'run-at-past': { status: 400, title: 'The instant at which the task shall run is in the past' },
  'payload-too-large': { status: 413, title: 'The payload is larger than the queue allows' },
  'task-conflict': { status: 409, title: 'The id belongs to a task with another name or payload' },
  'task-dead': { status: 409, title: 'The task has failed for good' },
  'result-timeout': { status: 409, title: 'The task did not end in time' },
  'task-active': { status: 409, title: 'The task runs' },
  'task-cancelled': { status: 409, title: 'The task was cancelled' },
  'wrong-state': { status: 409, title: 'The state of the task does not allow this' },
  'settings-changed': { status: 412, title: 'The queue has other settings than those that were seen' },
  'priorities-mismatch': { status: 409, title: 'The queue has other priorities' },
  'shards-mismatch': { status: 409, title: 'The queue has another number of shards' },
  'queue-in-use': { status: 409, title: 'The queue has active tasks, or workers that wait for tasks' },
  'too-many-schedules': { status: 409, title: 'The queue has as many schedules as it may have' },
  'quota-exceeded': { status: 429, title: 'The tenant has as much as it may have' },
  'queue-full': { status: 429, title: 'The queue holds as many tasks as it may' },

  // Webhooks.
  'url-not-allowed': { status: 422, title: 'No webhook is sent to this URL' },

  // Locks and semaphores.
  'lock-timeout': { status: 409, title: 'Others held it until the timeout' },
  'lease-lost': { status: 409, title: 'The lease has ended' },
  'semaphore-limit': { status: 409, title: 'The semaphore has another number of permits' },

  // Mailboxes and chats.
  'unknown-chat': { status: 404, title: 'There is no such chat' },
  'unknown-message': { status: 404, title: 'There is no such message' },
  'unknown-device': { status: 404, title: 'The recipient has no such device' },
  'sender-blocked': { status: 403, title: 'The recipient has blocked this sender' },
  'not-a-member': { status: 403, title: 'Only members of the chat may do this' },
  'read-only-member': { status: 403, title: 'The member may only read the chat' },
  'not-allowed': { status: 403, title: 'Only the author, or an owner of the chat, may do this' },
  'too-many-members': { status: 409, title: 'The chat has as many members as it may have' },
  'too-many-chats': { status: 409, title: 'A member is in as many chats as they may be' },
  'too-many-devices': { status: 409, title: 'The mailbox has as many devices as it may have' },
  'too-many-blocked': { status: 409, title: 'The mailbox has blocked as many senders as it may' },

  // Files.
  'invalid-digest': { status: 400, title: 'The header Content-Digest has no SHA-256' },
  'unknown-receiver': { status: 404, title: 'The channel has no such receiver' },
  'unknown-file': { status: 404, title: 'The channel lists no such file' },
  'no-receivers': { status: 409, title: 'Nobody receives the files of the channel' },
  'receivers-differ': { status: 409, title: 'The channel has other receivers' },
  'receiver-busy': { status: 409, title: 'Another process is the receiver' },
  'too-many-receivers': { status: 409, title: 'The channel has as many receivers as it may have' },
  'channel-ended': { status: 409, title: 'The channel has ended' },
  'upload-running': { status: 409, title: 'Another upload with this Idempotency-Key is under way' },
  'file-forgotten': { status: 409, title: 'Redis has lost the state of the file' },
  'file-aborted': { status: 409, title: 'The file was given up before it was whole' },
  'file-expired': { status: 410, title: 'This part of the file is not stored any more' },
  'range-not-satisfiable': { status: 416, title: 'The file does not have this range' },
  'digest-mismatch': { status: 422, title: 'The body does not match its digest' },
  'source-changed': { status: 422, title: 'The body differs from the earlier upload of the file' },
  'file-corrupt': { status: 500, title: 'The stored file is damaged' },
  'too-many-transfers': { status: 503, title: 'As many uploads and downloads are under way as may be' },
  'budget-exhausted': { status: 507, title: 'The channel has no room: its receivers do not read' },

  // Streams of events.
  'invalid-token': { status: 400, title: 'The token belongs to no event of this member' },
  'invalid-frame': { status: 400, title: 'The frame is invalid' },
  'foreign-origin': { status: 403, title: 'Pages of this origin may not use the API' },
  'upgrade-required': { status: 426, title: 'The address is that of a WebSocket' },

  // Address books.
  'page-too-deep': { status: 400, title: 'In this order there are no further pages' },
  'not-in-guild': { status: 403, title: 'Only members of the guild may do this' },
  'unknown-name': { status: 404, title: 'The address book has no such name' },
  'too-many-names': { status: 409, title: 'The address book has as many names as it may have' },
  'entry-too-large': {
    status: 413,
    title: 'The name has too many words, or too much that is stored with it',
  },

  // Cached rows.
  'unknown-table': { status: 404, title: 'No such table is cached' },
  'not-scheduled': { status: 404, title: 'The row is not scheduled' },
  'unknown-row': { status: 404, title: 'The table of the database has no such row' },
  'source-failed': { status: 502, title: 'The row could never be loaded from the database' },
  'not-loaded': { status: 503, title: 'The row is loaded for the first time' },

  // The service.
  'internal-error': { status: 500, title: 'The server failed' },
  'redis-unavailable': { status: 503, title: 'Redis cannot be reached' },
  'shutting-down': { status: 503, title: 'The server is shutting down' },
  'too-many-connections': { status: 503, title: 'As many connections are open as may be' },
  'too-many-waits': { status: 503, title: 'As many requests wait as may wait' },
  'too-many-streams': { status: 503, title: 'As many streams are open as may be' },
  'outbox-full': { status: 503, title: 'Too many mails wait to be enqueued' },
  'market-full': { status: 507, title: 'The market has as many players or items as it may have' },
} as const satisfies Record<string, ProblemKind>;

export type ProblemSlug = keyof typeof CATALOGUE;

export function isProblemSlug(text: string): text is ProblemSlug {
  return Object.hasOwn(CATALOGUE, text);
}
