/**
 * Keys of one queue. The hash tag is the queue's name, or name and index of the shard. `<priority>` is an index, 0 first.
 * Scripts get the keys of optional features only after the first use of such a feature (see `Settings.usesOptional`): most
 * queues never use one, and each key of a call costs the server 0.4 µs.
 *
 * ## Every queue
 *
 * | Key                    | Type   | Content                                       | Written by           | Goes away                      |
 * |------------------------|--------|-----------------------------------------------|----------------------|--------------------------------|
 * | `settings`             | STRING | names of the priorities, limits, switches     | first enqueue        | with the queue (obliterate)    |
 * | `tasks`                | HASH   | id -> record (options, name, payload)         | enqueue              | per field, by retention        |
 * | `attempts`             | HASH   | id -> last attempt: state, result or error    | workers, enqueue     | with the record, or compacted  |
 * | `ready:<priority>`     | LIST   | ids, oldest first                             | enqueue              | when empty                     |
 * | `scheduled:<priority>` | ZSET   | id -> instant at which it falls due           | enqueue with a delay | when empty                     |
 * | `retrying:<priority>`  | ZSET   | id -> instant of the next attempt             | workers              | when empty                     |
 * | `active`               | ZSET   | token and id -> end of the lease              | workers              | when empty                     |
 * | `succeeded`            | LIST   | ids in the order in which they finished       | workers              | capped by count and age        |
 * | `dead`                 | ZSET   | id -> instant of death                        | workers              | capped by count                |
 * | `idle`                 | ZSET   | lease, settings, channel of a worker -> until | workers              | a minute after its last change |
 * | `timekeeper`           | STRING | next due instant, channel of the worker       | workers              | a minute after its last change |
 * |                        |        | that has a timer for it                       |                      |                                |
 * | `handlers`             | ZSET   | name of a task -> until when it is listed     | workers              | 150 s after the last worker    |
 *
 * ## Optional features
 *
 * | Key                    | Type   | Content                                       | Written by           | Goes away                      |
 * |------------------------|--------|-----------------------------------------------|----------------------|--------------------------------|
 * | `features`             | STRING | exists while the settings have such a feature | configure, enqueue   | with the feature               |
 * | `tombstones`           | HASH   | id -> priorities in whose list it is void     | cancel, remove       | when a worker reaches the id   |
 * | `cancelled`            | ZSET   | id -> instant of cancellation                 | cancel               | capped by count                |
 * | `grouped`              | ZSET   | group, priority, sequence, id; scores are 0   | enqueue, workers     | when empty                     |
 * | `groups`               | HASH   | group -> waiting, active, rate; a counter     | enqueue, workers     | per group, when it is idle     |
 * | `runnableGroups`       | ZSET   | group that may run -> priority and order      | enqueue, workers     | when empty                     |
 * | `limitedGroups`        | ZSET   | group over its rate limit -> until            | workers              | when empty                     |
 * | `rate`                 | STRING | instant at which the rate limit is used up    | workers              | expires when it has no effect  |
 * | `progress`             | HASH   | id -> last progress of the handler, JSON      | workers              | with the task's record         |
 * | `logs`                 | HASH   | id -> lines, capped                           | workers              | with the task's record         |
 * | `awaited`              | ZSET   | id -> until when a process waits for its end  | result               | at its end, or after a minute  |
 * | `events`               | STREAM | events, a batch an entry                      | all that change      | capped by count                |
 * | `flows`                | HASH   | parent -> pending children; child -> its end  | flow                 | with the parent's record       |
 * | `outbox`               | HASH   | messages to other queues                      | flow, workers        | when they are delivered        |
 * | `schedules`            | HASH   | key -> definition                             | schedule             | unschedule                     |
 * | `dueSchedules`         | ZSET   | key of a schedule -> its next instant         | schedule             | unschedule                     |
 * | `dedupIds`             | ZSET   | id -> until when it is refused                | enqueue              | per id, after its window       |
 * | `dedupKeys`            | HASH   | key -> elements and id; id -> key             | enqueue with a key   | with the task's record         |
 * | `steps`                | HASH   | results of steps, cursors, events, by id      | workers, deliver     | with the task's record         |
 *
 * ## The BullMQ layer
 *
 * | Key                    | Type   | Content                                       | Written by           | Goes away                      |
 * |------------------------|--------|-----------------------------------------------|----------------------|--------------------------------|
 * | `layer:waiting`        | ZSET   | id of a parent -> since when it waits         | its adds, workers    | when its children have ended   |
 * | `layer:logs`           | HASH   | id -> lines                                   | Job.log              | with the job                   |
 * | `layer:dedup`          | HASH   | deduplication id -> until when, id of the job | its adds             | with the queue, or by id       |
 * | `layer:schedulers`     | HASH   | id of a job scheduler -> definition, JSON     | upsertJobScheduler   | removeJobScheduler             |
 * | `layer:due`            | ZSET   | id of a job scheduler -> its next instant     | upsertJobScheduler   | removeJobScheduler             |
 * | `layer:meta`           | HASH   | ids -> the last number of an id               | its adds             | a day after the queue          |
 * | `layer:present`        | ZSET   | worker or reader of events -> until when it   | workers, readers     | 45 s after the last of them    |
 * |                        |        | is listed                                     |                      |                                |
 * | `children:<id>`        | HASH   | key of a child -> its end; `#` -> how many    | its adds, workers    | with the job, or 7 days after  |
 * |                        |        | have not ended                                |                      | its end                        |
 *
 * ## Channels
 *
 * | Channel                        | Messages                                                    |
 * |--------------------------------|-------------------------------------------------------------|
 * | `wake:<worker>`                | wake-ups of one worker for one queue                        |
 * | `active`                       | cancellations of running tasks, for all workers             |
 * | `awaited`, `awaited:<process>` | ends of tasks, for processes that wait in `result`          |
 * | `events`                       | new events, for processes that read `events()`              |
 *
 * Two keys of the prefix lie in a slot of their own. `names`, a SET, has the names of all queues; the first use of a queue adds its
 * name. `workers`, a ZSET, has the ids of the running workers, each until when it counts; it goes away 150 s after the last of them.
 */
import type { EntityKeys } from '@mortise/redis';
import { KeySpace } from '@mortise/redis';
import { MAX_PRIORITIES } from './limits.js';

const PACKAGE = 'queues';

/** In the order in which scripts expect them after the keys of the priorities. */
const OPTIONAL = [
  'features',
  'tombstones',
  'cancelled',
  'grouped',
  'groups',
  'runnableGroups',
  'limitedGroups',
  'rate',
  'progress',
  'logs',
  'awaited',
  'events',
  'flows',
  'outbox',
  'schedules',
  'dueSchedules',
  'dedupIds',
  'dedupKeys',
  'steps',
] as const;

const CORE = [
  'settings',
  'tasks',
  'attempts',
  'active',
  'succeeded',
  'dead',
  'idle',
  'timekeeper',
  'handlers',
] as const;

/** Of the BullMQ layer alone; see src/bullmq. */
const LAYER = ['waiting', 'logs', 'dedup', 'schedulers', 'due', 'meta', 'present'] as const;

type LayerKeys = Readonly<Record<`layer${Capitalize<(typeof LAYER)[number]>}`, string>>;

type KeyName = (typeof CORE)[number] | (typeof OPTIONAL)[number];

export class QueueKeys {
  /** All keys except those of the priorities. */
  readonly of: Readonly<Record<KeyName, string>>;
  /** The keys of optional features. */
  readonly optional: readonly string[];
  readonly #entity: EntityKeys;
  #layer: LayerKeys | undefined;

  constructor(queue: string, prefix: string | undefined, shard = 0) {
    this.#entity = new KeySpace(PACKAGE, prefix).entity(queue, 'queue', shard);
    this.of = Object.fromEntries(
      [...CORE, ...OPTIONAL].map((part) => [part, this.#entity.key(part)]),
    ) as Record<KeyName, string>;
    this.optional = OPTIONAL.map((part) => this.of[part]);
  }

  /** Every key that a shard may have, `active` and `idle` first. */
  get all(): string[] {
    const { active, idle, ...others } = this.of;
    const ofLayer = LAYER.map((part) => this.#entity.key('layer', part));
    return [active, idle, ...Object.values(others), ...ofLayer, ...this.priorityKeys(MAX_PRIORITIES)];
  }

  /** The keys of the BullMQ layer. */
  get layer(): LayerKeys {
    if (this.#layer) return this.#layer;
    const named = LAYER.map((part) => [
      `layer${part[0]!.toUpperCase()}${part.slice(1)}`,
      this.#entity.key('layer', part),
    ]);
    this.#layer = Object.fromEntries(named) as LayerKeys;
    return this.#layer;
  }

  /** The children of a parent in the BullMQ layer. */
  layerChildren(id: string): string {
    return this.#entity.key('children', id);
  }

  /** Three keys for each priority, in the order that the scripts expect: ready, scheduled, retrying. */
  priorityKeys(count: number): string[] {
    return Array.from({ length: count }, (_, priority) => [
      this.#entity.key('ready', String(priority)),
      this.#entity.key('scheduled', String(priority)),
      this.#entity.key('retrying', String(priority)),
    ]).flat();
  }

  wakeChannel(worker: string): string {
    return this.#entity.key('wake', worker);
  }

  /**
   * A worker as a member of `idle`. `handOff`: the lease of a task that the enqueue script may hand to it, and the settings
   * that the worker expects.
   */
  idleMember(worker: string, handOff = { leaseMs: 0, settings: '-' }): string {
    return `${handOff.leaseMs} ${handOff.settings} ${this.wakeChannel(worker)}`;
  }
}

/** The SET with the names of all queues of a prefix. It has a slot of its own: that of a shard that no queue has. */
export function namesKey(prefix: string | undefined): string {
  return keyOfPrefix(prefix, 'names');
}

/** The ZSET with the workers of a prefix. */
export function workersKey(prefix: string | undefined): string {
  return keyOfPrefix(prefix, 'workers');
}

function keyOfPrefix(prefix: string | undefined, part: string): string {
  return new KeySpace(PACKAGE, prefix).entity('-', 'queue', -1).key(part);
}
