/**
 * Delivers the outbox of a shard: children that are to be stored, and ends of children for their parents. A worker does it when
 * the script says that something is due; one worker at a time, under a lease. Each step may be done twice, so a worker that
 * dies in the middle leaves nothing undone and nothing wrong.
 *
 * It goes round the outbox, and again while a round delivers something. A failure delays nothing else: the failed shard is
 * skipped for a while, the script puts its children off, and deliveries for other shards go on.
 */
import { randomBytes } from 'node:crypto';
import { flowRelay } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { decodeRecord } from '../task/record.js';
import { decodeTaskId, encodeTaskId } from '../task/task-id.js';
import { decodeNode } from './flow-node.js';
import type { FlowStore } from './flow-store.js';

const LEASE_MS = 3_000;
/** After a round with failures only: no shard of a parent can be reached. */
const PAUSE_MS = 2_000;
/** A shard that failed gets no deliveries for this time: it can't be reached, or is full. */
const SKIP_MS = 1_000;
/** The answer of a step that returned deliveries. */
const SENDING = 1;
/** The cursor at the begin and the end of a round. */
const START = '0';
/** n, f64 instant, id of the child. */
const ID_AT = 9;

interface Item {
  /** n: an end; e, f: a child, see flow.relay.lua. */
  readonly kind: string;
  readonly field: Buffer;
  readonly value: Buffer;
}

/** The outcome of a round. */
interface Round {
  handed: number;
  hasDone: boolean;
}

export class Relay {
  readonly #shard: Shard;
  readonly #store: FlowStore;
  readonly #sender = randomBytes(8);
  readonly #skipped = new Map<Shard, { readonly until: number; readonly error: unknown }>();
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
    const tellBy = performance.now() + LEASE_MS;
    let round: Round = { handed: 0, hasDone: false };
    let failed: PromiseRejectedResult | undefined;
    let cursor = START;
    let sent: Buffer[] = [];
    for (;;) {
      const [state, next, ...handed] = await this.#step(sent, cursor, round.handed, 0);
      if (state !== SENDING) break;
      const items = itemsOf(handed);
      const outcomes = await Promise.allSettled(items.map((item) => this.#send(item)));
      sent = items.flatMap(({ field }, index) => {
        const outcome = outcomes[index]!;
        return outcome.status === 'fulfilled' && outcome.value ? [field] : [];
      });
      failed ??= outcomes.find((outcome) => outcome.status === 'rejected');
      round.handed += items.length;
      // Walks through children end, and are put off then.
      round.hasDone ||= sent.length > 0 || items.some(({ kind }) => kind !== 'n');
      cursor = next!.toString();
      const isOver = cursor === START;
      const isStuck = isOver && round.handed > 0 && !round.hasDone;
      // What goes on and on must not keep a failure to itself.
      const isTelling = isOver && failed !== undefined && performance.now() > tellBy;
      if (isStuck || isTelling || this.#isStopped) {
        await this.#step(sent, START, 0, isStuck ? PAUSE_MS : 1);
        break;
      }
      if (isOver) round = { handed: 0, hasDone: false };
    }
    if (failed) throw failed.reason;
  }

  async #step(
    sent: readonly Buffer[],
    cursor: string,
    handed: number,
    pauseMs: number,
  ): Promise<[number, ...Buffer[]]> {
    const { flows, outbox } = this.#shard.keys.of;
    return (await flowRelay.runBuffer(
      this.#shard.redis,
      { flows, outbox },
      { sender: this.#sender, leaseMs: LEASE_MS, cursor, handed, pauseMs, sent },
    )) as [number, ...Buffer[]];
  }

  /** Resolves to false, or rejects, when it has to be sent again. */
  #send({ kind, field, value }: Item): Promise<boolean> {
    if (kind === 'n') return this.#tell(field, value);
    const { queue, storedId, group } = decodeNode(value);
    const isLast = kind === 'f';
    return this.#to(queue, storedId, group, isLast, () => this.#store.storeChild(value, isLast));
  }

  /** u32 length · record without payload · what `attempts` says of the end. */
  async #tell(field: Buffer, note: Buffer): Promise<boolean> {
    const endAt = 4 + note.readUInt32BE(0);
    const { name, extras } = decodeRecord(note.subarray(4, endAt));
    const { parent } = extras;
    if (!parent) return true;
    const identity = { queue: this.#shard.queue, id: decodeTaskId(field.subarray(ID_AT)), name };
    return this.#to(parent.queue, encodeTaskId(parent.id), parent.group, false, async () => {
      await this.#store.report(identity, parent, note.subarray(endAt));
      return true;
    });
  }

  /** Sends to the shard of a task, unless that rests. */
  async #to(
    queue: string,
    storedId: Buffer,
    group: string | undefined,
    isLast: boolean,
    send: () => Promise<boolean>,
  ): Promise<boolean> {
    const target = await this.#store.queues.shardOf(queue, storedId, group);
    const rest = this.#skipped.get(target);
    if (rest && rest.until > performance.now() && !isLast) throw rest.error;
    try {
      return await send();
    } catch (error) {
      this.#skipped.set(target, { until: performance.now() + SKIP_MS, error });
      throw error;
    }
  }
}

function itemsOf(handed: readonly Buffer[]): Item[] {
  return Array.from({ length: handed.length / 3 }, (_, index) => {
    const [kind, field, value] = handed.slice(3 * index, 3 * index + 3) as [Buffer, Buffer, Buffer];
    return { kind: kind.toString(), field, value };
  });
}
