/**
 * Keys of one queue; the queue is the hash tag, and a queue with shards has all of them once for each shard. `<lane>` is
 * the index of a priority, 0 first. What stands below the line is only given to scripts once the queue uses more than the
 * core (see `Settings.isExtended`): most queues never do, and each key of a call costs the server 0.4 µs.
 *
 * | Key                | Type   | Content                                         | Written by           | Goes away                        |
 * |--------------------|--------|-------------------------------------------------|----------------------|----------------------------------|
 * | `settings`         | STRING | names of the priorities, limits, switches       | first enqueue        | never: one short string          |
 * | `tasks`            | HASH   | id -> record (options, name, payload)           | enqueue              | per field, when retention ends   |
 * | `attempts`         | HASH   | id -> last attempt: state, result or error      | exchange, enqueue    | with the record, or told by it   |
 * | `ready:<lane>`     | LIST   | ids, oldest first                               | enqueue              | when empty                       |
 * | `scheduled:<lane>` | ZSET   | id -> instant at which it falls due             | enqueue with a delay | when empty                       |
 * | `retrying:<lane>`  | ZSET   | id -> instant at which it is tried again        | exchange             | when empty                       |
 * | `active`           | ZSET   | id -> end of the lease                          | exchange, renew      | when empty                       |
 * | `succeeded`        | LIST   | ids in the order in which they finished         | exchange             | capped by count and age          |
 * | `dead`             | ZSET   | id -> instant of death                          | exchange             | capped by count                  |
 * | `idle`             | ZSET   | channel of a parked worker -> parked until      | exchange             | a minute after the last parked   |
 * | `timekeeper`       | STRING | next due instant, channel of who times it       | exchange             | a minute after the last parked   |
 * | ——————             |        |                                                 |                      |                                  |
 * | `holes`            | HASH   | id -> lane of each entry of it that is void     | cancel, remove       | when a worker comes across it    |
 * | `cancelled`        | ZSET   | id -> instant of cancellation                   | cancel               | capped by count                  |
 * | `grouped`          | ZSET   | group, lane, sequence, id; all with score 0     | enqueue, exchange    | when empty                       |
 * | `groups`           | HASH   | group -> waiting, active, rate; two counters    | enqueue, exchange    | per group, when it is idle       |
 * | `turns`            | ZSET   | group that may run -> lane and turn             | enqueue, exchange    | when empty                       |
 * | `resting`          | ZSET   | group under its rate limit -> until             | exchange             | when empty                       |
 * | `rate`             | STRING | instant at which the rate limit is used up      | exchange             | expires when it has no effect    |
 * | `progress`         | HASH   | id -> what the handler told last, JSON          | note                 | with the task's record           |
 * | `logs`             | HASH   | id -> lines, capped                             | note                 | with the task's record           |
 * | `watched`          | ZSET   | id -> until when a process waits for its end    | watch                | when it ended, or after a minute |
 * | `events`           | STREAM | what happened, a batch an entry                 | all that change      | capped by count                  |
 * | `flows`            | HASH   | parent -> children to come; child -> its result | flow                 | with the parent's record         |
 * | `outbox`           | HASH   | what other queues have to be told               | flow, exchange       | when it was told                 |
 * | `schedules`        | HASH   | key -> definition                               | schedule             | unschedule                       |
 * | `firing`           | ZSET   | key of a schedule -> when it fires next         | schedule             | unschedule                       |
 * | `remembered`       | ZSET   | id -> until when it is refused                  | enqueue              | per id, when the window is over  |
 *
 * Channels: `wake:<worker>`, one for each worker and queue. Three are called as a key is: `active` is heard by all workers of
 * the queue (cancellations), `watched` and `watched:<process>` by who waits for results, `events` by who reads events.
 *
 * Beside the queues stands `names`, a SET of the names of all queues of the prefix, written by their first use.
 */
import type { EntityKeys } from '@mortise/redis';
import { KeySpace } from '@mortise/redis';

const PACKAGE = 'queues';

/** In the order in which scripts take them; see `extended` in their headers. 3 does not divide how many there are. */
const EXTENDED = [
  'holes',
  'cancelled',
  'grouped',
  'groups',
  'turns',
  'resting',
  'rate',
  'progress',
  'logs',
  'watched',
  'events',
  'flows',
  'outbox',
  'schedules',
  'firing',
  'remembered',
] as const;

const CORE = ['settings', 'tasks', 'attempts', 'active', 'succeeded', 'dead', 'idle', 'timekeeper'] as const;

type Part = (typeof CORE)[number] | (typeof EXTENDED)[number];

export class QueueKeys {
  /** Every key that is there once. */
  readonly of: Readonly<Record<Part, string>>;
  /** Those that scripts take behind the lanes when the queue uses more than the core. */
  readonly extended: readonly string[];
  readonly #entity: EntityKeys;

  constructor(queue: string, prefix: string | undefined, shard = 0) {
    this.#entity = new KeySpace(PACKAGE, prefix).entity(queue, 'queue', shard);
    this.of = Object.fromEntries(
      [...CORE, ...EXTENDED].map((part) => [part, this.#entity.key(part)]),
    ) as Record<Part, string>;
    this.extended = EXTENDED.map((part) => this.of[part]);
  }

  /** The three keys of each priority, in the order that the scripts expect: ready, scheduled, retrying. */
  lanes(count: number): string[] {
    return Array.from({ length: count }, (_, lane) => [
      this.#entity.key('ready', String(lane)),
      this.#entity.key('scheduled', String(lane)),
      this.#entity.key('retrying', String(lane)),
    ]).flat();
  }

  wakeChannel(worker: string): string {
    return this.#entity.key('wake', worker);
  }
}

/** The SET with the names of all queues of a prefix. It stands in a slot of its own: a shard that no queue has. */
export function namesKey(prefix: string | undefined): string {
  return new KeySpace(PACKAGE, prefix).entity('-', 'queue', -1).key('names');
}
