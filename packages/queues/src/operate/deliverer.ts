/** Delivers events to tasks, for `ctx.waitFor`. Calls of one tick and shard share a script call, in order. */
import type { CommandArgument } from '@mortise/redis';
import { Coalescer, requireOptions, requireText } from '@mortise/redis';
import { DeliveryError, MemoryFullError } from '../errors.js';
import { MAX_EVENT_NAME_BYTES } from '../limits.js';
import { operatorDeliver } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { jsonText } from '../task/json-text.js';
import { encodeTaskId } from '../task/task-id.js';

export interface DeliverOptions {
  /**
   * Identifies the delivery: a second one with the same id stores nothing. So a delivery whose reply was lost is safe to
   * repeat. The task remembers the ids of at least 60 events that it has taken. 1 to 256 bytes. Default: none.
   */
  readonly id?: string | undefined;
}

/** As operator.deliver.lua expects it. */
interface Delivery {
  readonly storedId: Buffer;
  readonly event: string;
  readonly delivery: string;
  readonly text: string;
}

const OPTIONS = new Set(['id']);
/** Limits the time of a call in the server. */
const MAX_BATCH = 100;
const MAX_BATCH_BYTES = 1024 * 1024;
const MAX_PAYLOAD_BYTES = 65_536;
const MAX_ID_BYTES = 256;
/** Answers of the script. */
const STORED = '1';
const UNKNOWN = '-';
const TOO_MANY = 'N';
const TOO_LARGE = 'B';

export class Deliverer {
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #deliveries = new Coalescer<Shard, Delivery, string>(
    (shard, batch) => MemoryFullError.wrap(this.#queue, this.#send(shard, batch)),
    { maxBatch: MAX_BATCH, maxBytes: MAX_BATCH_BYTES, bytesOf: ({ text }) => text.length },
  );

  constructor(queue: string, shards: Shards) {
    this.#queue = queue;
    this.#shards = shards;
  }

  async deliver(taskId: string, event: string, payload: unknown, options: DeliverOptions): Promise<boolean> {
    requireText('event', event, { max: MAX_EVENT_NAME_BYTES });
    const { id } = requireOptions('deliver', options, OPTIONS);
    const delivery = id === undefined ? '' : requireText('id', id, { max: MAX_ID_BYTES });
    const storedId = encodeTaskId(taskId);
    const text = this.#textOf(payload);
    const answer = await this.#shards.find(storedId, async (shard) => {
      const given = await this.#deliveries.submit(shard, { storedId, event, delivery, text });
      return given === UNKNOWN ? null : given;
    });
    if (answer === TOO_MANY) throw new DeliveryError('ERR_TOO_MANY_EVENTS', this.#queue, taskId, event);
    if (answer === TOO_LARGE) throw new DeliveryError('ERR_EVENTS_TOO_LARGE', this.#queue, taskId, event);
    return answer === STORED;
  }

  #textOf(payload: unknown): string {
    if (payload === undefined) return '';
    const json = jsonText('payload', payload, MAX_PAYLOAD_BYTES);
    return this.#shards.codecs?.encode(json) ?? json;
  }

  async #send(shard: Shard, batch: readonly Delivery[]): Promise<string[]> {
    // So that workers look for the event when they suspend the task.
    await shard.enableOptional();
    const entries = batch.flatMap<CommandArgument>(({ storedId, event, delivery, text }) => [
      storedId,
      event,
      delivery,
      text,
    ]);
    const reply = await shard.call((keys, { expectedSettings, publish }) =>
      operatorDeliver.run(shard.redis, keys, { expectedSettings, publish, entries }),
    );
    return (reply as string).split('');
  }
}
