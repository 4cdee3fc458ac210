/** What is told of claimed tasks while somebody works on them: that they are, how far, and lines of a log. */
import type { CommandArgument } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import { heartbeaterReport, heartbeaterRenew } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';

/** An attempt, as who has claimed the task knows it. */
export interface Held {
  readonly storedId: Buffer;
  readonly token: number;
}

export interface Note extends Held {
  /** JSON, or empty. */
  readonly progress: string;
  /** Each with a line break at its end. */
  readonly lines: string;
}

const MAX_RENEWALS = 500;
const MAX_NOTES = 200;
const MAX_NOTES_BYTES = 1024 * 1024;

/** Those of one shard; calls of one tick share a call of Redis. All reject with ERR_LEASE_LOST or ERR_TASK_CANCELLED. */
export class HeldTasks {
  readonly #shard: Shard;
  readonly #renewals = new Coalescer<number, Held, void>(
    (leaseMs, held) => this.#sendRenewals(leaseMs, held),
    {
      maxBatch: MAX_RENEWALS,
    },
  );
  readonly #notes = new Coalescer<HeldTasks, Note, void>((_, notes) => this.#sendNotes(notes), {
    maxBatch: MAX_NOTES,
    maxBytes: MAX_NOTES_BYTES,
    bytesOf: ({ progress, lines }) => progress.length + lines.length,
  });

  /** Of notes that came before the queue was one that keeps them. */
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(shard: Shard) {
    this.#shard = shard;
  }

  renew(held: Held, leaseMs: number): Promise<void> {
    return this.#renewals.submit(leaseMs, held);
  }

  /**
   * In the order of the calls.
   * @param check Rejects for a lease that is over: the first note makes the queue one that has more to keep, which is not to
   * come of what is refused.
   */
  async note(note: Note, check: () => Promise<unknown>): Promise<void> {
    if (this.#waiting === 0 && this.#shard.settings.usesOptional) return this.#notes.submit(this, note);
    const turn = this.#open(this.#turn, check);
    this.#turn = turn.catch(() => undefined);
    this.#waiting += 1;
    try {
      await turn;
    } finally {
      this.#waiting -= 1;
    }
    return this.#notes.submit(this, note);
  }

  async #open(before: Promise<unknown>, check: () => Promise<unknown>): Promise<void> {
    await before;
    if (!this.#shard.settings.usesOptional) await check();
    await this.#shard.enableOptional();
  }

  async #sendRenewals(leaseMs: number, batch: readonly Held[]): Promise<(Error | undefined)[]> {
    const { redis, keys } = this.#shard;
    const { attempts, active } = keys.of;
    const leases = batch.flatMap<CommandArgument>(({ storedId, token }) => [storedId, token]);
    const reply = (await heartbeaterRenew.run(redis, { attempts, active }, { leaseMs, leases })) as string;
    return batch.map(({ storedId }, index) => refusalOf(this.#shard, storedId, reply[index]));
  }

  async #sendNotes(batch: readonly Note[]): Promise<(Error | undefined)[]> {
    const merged = new Map<string, Note & { index: number }>();
    for (const note of batch) {
      const before = merged.get(keyOf(note));
      merged.set(keyOf(note), {
        ...note,
        index: before?.index ?? merged.size,
        progress: note.progress || (before?.progress ?? ''),
        lines: (before?.lines ?? '') + note.lines,
      });
    }
    const entries = [...merged.values()].flatMap<CommandArgument>(({ storedId, token, progress, lines }) => [
      storedId,
      token,
      progress,
      lines,
    ]);
    const { redis, keys } = this.#shard;
    const { attempts, progress, logs, events } = keys.of;
    const reply = (await heartbeaterReport.run(
      redis,
      { attempts, progress, logs, events },
      { keepEvents: this.#shard.settings.values.keepEvents, publish: this.#shard.publish, entries },
    )) as string;
    return batch.map((note) => refusalOf(this.#shard, note.storedId, reply[merged.get(keyOf(note))!.index]));
  }
}

function keyOf({ storedId, token }: Held): string {
  return `${token} ${storedId.toString('latin1')}`;
}

/** What a script's answer for an attempt means; undefined where it is good. */
export function refusalOf({ queue }: Shard, storedId: Buffer, answer: string | undefined): Error | undefined {
  if (answer === '1') return undefined;
  const id = decodeTaskId(storedId);
  return answer === 'C' ? new TaskCancelledError(queue, id) : taskLeaseLost(queue, id);
}
