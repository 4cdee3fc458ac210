/**
 * Delivers the outbox of a shard: children to their queues, and ends of children to their parents. A worker does this when
 * a script reports the outbox as due; one worker at a time has a lease. Each step can be repeated, so a worker that dies
 * midway causes no loss and no error.
 *
 * It goes round the outbox, and again while a round delivers something. A failure delays nothing else: the failed shard is
 * skipped for a while, the script delays its children, and deliveries for other shards go on.
 */
import { randomBytes } from 'node:crypto';
import { flowRelay } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { decodeRecord } from '../task/record.js';
import { decodeTaskId, encodeTaskId } from '../task/task-id.js';
import { childField } from './child.js';
import { decodeNode } from './flow-node.js';
import type { FlowStore } from './flow-store.js';

const LEASE_MS = 3_000;
/** After a round with failures only: no shard can be reached. */
const PAUSE_MS = 2_000;
/** A failed shard gets no deliveries for this time: it cannot be reached, or is full. */
const SKIP_MS = 1_000;
/** The answer of a step that returned deliveries. */
const SENDING = 1;
/** The cursor at the start and the end of a round. */
const START = '0';
/** n, f64 instant, id of the child. */
const ID_AT = 9;
const NOTHING = Buffer.alloc(0);
const ELSEWHERE: Proof = [NOTHING, NOTHING];

interface Item {
  /** n: the end of a child; e, f: a child to enqueue, see flow.relay.lua. */
  readonly kind: string;
  readonly field: Buffer;
  readonly value: Buffer;
}

/** The script looks for this in the shard of the outbox: an id and a child, or nothing if the entry went to another shard. */
type Proof = readonly [id: Buffer, child: Buffer];

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

  /**
   * Delivers until nothing is due or another worker has the lease. Calls during a run join it. Rejects with the first
   * failure.
   */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Stops after the present step and releases the lease, so that another worker can continue at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running?.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const reportBy = performance.now() + LEASE_MS;
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
        return outcome.status === 'fulfilled' && outcome.value ? [field, ...outcome.value] : [];
      });
      failed ??= outcomes.find((outcome) => outcome.status === 'rejected');
      round.handed += items.length;
      // A walk through children ends and then waits, so it counts as progress.
      round.hasDone ||= sent.length > 0 || items.some(({ kind }) => kind !== 'n');
      cursor = next!.toString();
      const isOver = cursor === START;
      const isStuck = isOver && round.handed > 0 && !round.hasDone;
      // A relay that never ends still has to report a failure.
      const mustReport = isOver && failed !== undefined && performance.now() > reportBy;
      if (isStuck || mustReport || this.#isStopped) {
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
    const { tasks, flows, outbox } = this.#shard.keys.of;
    return (await flowRelay.runBuffer(
      this.#shard.redis,
      { tasks, flows, outbox },
      { sender: this.#sender, leaseMs: LEASE_MS, cursor, handed, pauseMs, sent },
    )) as [number, ...Buffer[]];
  }

  /** Resolves to undefined, or rejects, if the entry must be sent again. */
  async #send({ kind, field, value }: Item): Promise<Proof | undefined> {
    if (kind === 'n') return this.#reportEnd(field, value);
    const { queue, storedId, group } = decodeNode(value);
    const isLast = kind === 'f';
    const send = (): Promise<boolean> => this.#store.storeChild(value, isLast);
    const shard = await this.#to(queue, storedId, group, isLast, send);
    return shard && (this.#isHere(shard) ? [storedId, NOTHING] : ELSEWHERE);
  }

  /** The notice: u32 length · record without payload · entry of `attempts`. */
  async #reportEnd(field: Buffer, notice: Buffer): Promise<Proof> {
    const endAt = 4 + notice.readUInt32BE(0);
    const { name, extras } = decodeRecord(notice.subarray(4, endAt));
    const { parent } = extras;
    // The report of a removed queue would create it.
    if (!parent || !(await this.#store.queues.exists(parent.queue))) return ELSEWHERE;
    const identity = { queue: this.#shard.queue, id: decodeTaskId(field.subarray(ID_AT)), name };
    const parentId = encodeTaskId(parent.id);
    const shard = await this.#to(parent.queue, parentId, parent.group, false, async () => {
      await this.#store.report(identity, parent, notice.subarray(endAt));
      return true;
    });
    return shard && this.#isHere(shard) ? [parentId, childField(parent)] : ELSEWHERE;
  }

  /** The queues of flows have objects of their own for this shard. */
  #isHere({ keys }: Shard): boolean {
    return keys.of.tasks === this.#shard.keys.of.tasks;
  }

  /** Sends to the shard of a task, unless that shard is skipped. Resolves to it, or to undefined if `send` must be repeated. */
  async #to(
    queue: string,
    storedId: Buffer,
    group: string | undefined,
    isLast: boolean,
    send: () => Promise<boolean>,
  ): Promise<Shard | undefined> {
    const target = await this.#store.queues.shardOf(queue, storedId, group);
    const rest = this.#skipped.get(target);
    if (rest && rest.until > performance.now() && !isLast) throw rest.error;
    try {
      return (await send()) ? target : undefined;
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
