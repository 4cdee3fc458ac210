/**
 * Sends what the outbox of a shard holds: children that are to be stored, ends of children that their parents have to be told.
 * Workers do so when an exchange says that something is due; one of them at a time, for as long as its lease holds. Each
 * step may be done twice, so who dies in the middle leaves nothing undone and nothing wrong.
 */
import { randomBytes } from 'node:crypto';
import { flowRelay } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { decodeRecord } from '../task/record.js';
import { decodeTaskId } from '../task/task-id.js';
import type { FlowStore } from './flow-store.js';

const LEASE_MS = 3_000;
/** After a failure: the shard of a parent cannot be reached, or a queue is full. */
const PAUSE_MS = 2_000;
/** The state in which a step has handed something out. */
const SENDING = 1;
/** n, f64 instant, id of the child. */
const ID_AT = 9;

export class Relay {
  readonly #shard: Shard;
  readonly #store: FlowStore;
  readonly #sender = randomBytes(8);
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(shard: Shard, store: FlowStore) {
    this.#shard = shard;
    this.#store = store;
  }

  /** Sends until nothing is due, or another one does; a call during that joins it. Rejects with the first failure. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Ends after the present step; what is left is for others, at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running?.catch(() => undefined);
  }

  async #run(): Promise<void> {
    let sent: Buffer[] = [];
    for (;;) {
      const [state, ...items] = await this.#step(sent, 0);
      if (state !== SENDING) return;
      const outcomes = await Promise.allSettled(this.#sendAll(items));
      sent = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed || this.#isStopped) {
        await this.#step(sent, failed ? PAUSE_MS : 1);
        if (failed) throw failed.reason;
        return;
      }
    }
  }

  async #step(sent: readonly Buffer[], pauseMs: number): Promise<[number, ...Buffer[]]> {
    const { flows, outbox } = this.#shard.keys.of;
    return (await flowRelay.runBuffer(
      this.#shard.redis,
      { flows, outbox },
      { sender: this.#sender, leaseMs: LEASE_MS, pauseMs, sent },
    )) as [number, ...Buffer[]];
  }

  *#sendAll(items: readonly Buffer[]): Generator<Promise<Buffer>> {
    for (let index = 0; index < items.length; index += 3) {
      const [kind, field, value] = items.slice(index, index + 3) as [Buffer, Buffer, Buffer];
      const sending = kind.toString() === 'n' ? this.#tell(field, value) : this.#store.storeChild(value);
      yield sending.then(() => field);
    }
  }

  /** u32 length · record without payload · what `attempts` says of the end. */
  async #tell(field: Buffer, note: Buffer): Promise<void> {
    const endAt = 4 + note.readUInt32BE(0);
    const { name, extras } = decodeRecord(note.subarray(4, endAt));
    if (!extras.parent) return;
    const identity = { queue: this.#shard.queue, id: decodeTaskId(field.subarray(ID_AT)), name };
    await this.#store.report(identity, extras.parent, note.subarray(endAt));
  }
}
