/**
 * Keys of one queue; the queue is the hash tag. `<lane>` is the index of a priority, 0 first.
 *
 * | Key                | Type   | Content                                      | Written by           | Goes away                      |
 * |--------------------|--------|----------------------------------------------|----------------------|--------------------------------|
 * | `priorities`       | STRING | names of the priorities, first one first     | first enqueue        | never: one short string        |
 * | `tasks`            | HASH   | id -> record (options, name, payload)        | enqueue              | per field, when retention ends |
 * | `attempts`         | HASH   | id -> last attempt: state, result or error   | exchange             | with the task's record         |
 * | `ready:<lane>`     | LIST   | ids, oldest first                            | enqueue              | when empty                     |
 * | `scheduled:<lane>` | ZSET   | id -> instant at which it falls due          | enqueue with a delay | when empty                     |
 * | `retrying:<lane>`  | ZSET   | id -> instant at which it is tried again     | exchange             | when empty                     |
 * | `active`           | ZSET   | id -> end of the lease                       | exchange, renew      | when empty                     |
 * | `succeeded`        | LIST   | ids in the order in which they finished      | exchange             | capped by count and age        |
 * | `dead`             | ZSET   | id -> instant of death                       | exchange             | capped by count                |
 * | `idle`             | ZSET   | channel of a parked worker -> parked until   | exchange             | a minute after the last parked |
 * | `timekeeper`       | STRING | next due instant, channel of who times it    | exchange             | a minute after the last parked |
 *
 * Channel: `wake:<worker>`, one for each worker and queue.
 */
import type { EntityKeys } from '@mortise/redis';
import { KeySpace } from '@mortise/redis';

export class QueueKeys {
  readonly priorities: string;
  readonly tasks: string;
  readonly attempts: string;
  readonly active: string;
  readonly succeeded: string;
  readonly dead: string;
  readonly idle: string;
  readonly timekeeper: string;
  readonly #entity: EntityKeys;

  constructor(queue: string, prefix: string | undefined) {
    this.#entity = new KeySpace('queues', prefix).entity(queue, 'queue');
    this.priorities = this.#entity.key('priorities');
    this.tasks = this.#entity.key('tasks');
    this.attempts = this.#entity.key('attempts');
    this.active = this.#entity.key('active');
    this.succeeded = this.#entity.key('succeeded');
    this.dead = this.#entity.key('dead');
    this.idle = this.#entity.key('idle');
    this.timekeeper = this.#entity.key('timekeeper');
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
