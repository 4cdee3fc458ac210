/**
 * The completions of one shard that the server has not accepted yet. The executor adds them; the fetcher sends them with
 * its next call and reports the answers.
 *
 *   added ──take──► under way ──answered──► done     or, when the call failed: ──► added again
 *
 * It has no timer and no loop, so it needs no start and no stop. The fetcher sends the completions, and stops when there
 * are none.
 */
import type { Completion } from './completion.js';
import { encodeAck } from './completion.js';
import type { FetchedTask } from './fetch-and-ack.js';

/** Acks in one call: limits the time of the call in the server to about 3 ms. */
const MAX_BATCH = 500;
/** The ack that exceeds this size is the last one of its call. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** With this many acks or more, two calls share them: one travels while the server runs the other. */
const MIN_SPLIT = 32;

export interface PendingAck {
  readonly storedId: Buffer;
  readonly encoded: Buffer;
  /** See `Completion`. */
  readonly leavesTime: boolean;
  /** See `Completion`. */
  readonly keepsNone: boolean;
  /** See `FetchedTask`. */
  readonly context: unknown;
  /** Called with the answer of the script: 1, 0 or C; `isRemoved`: the call has kept no succeeded task. */
  readonly onAnswer?: ((answer: string, context: unknown, isRemoved: boolean) => void) | undefined;
  /** Called when the call has failed; without it, the ack is sent again. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** Whether a refusal reports a lost lease: this is the first try, and the lease was not known to be lost. */
  reportsLoss: boolean;
}

/** The lease of an attempt. The number of the attempt makes its ack cheaper. */
export type AttemptToken = Pick<FetchedTask, 'storedId' | 'token'> &
  Partial<Pick<FetchedTask, 'attempt' | 'context'>>;

export class Completer {
  readonly #onAdded: () => void;
  readonly #onRefused: (storedId: Buffer) => void;
  readonly #isShared: boolean;
  #waiting: PendingAck[] = [];

  /**
   * @param onAdded Called when there is something to take.
   * @param onRefused Called when the lease of a task was lost and nothing else has reported it.
   * @param isShared Several callers may complete the same task, so no call has two acks of one id.
   */
  constructor(onAdded: () => void, onRefused: (storedId: Buffer) => void, isShared = false) {
    this.#onAdded = onAdded;
    this.#onRefused = onRefused;
    this.#isShared = isShared;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(
    task: AttemptToken,
    completion: Completion,
    { onAnswer, onFailure }: Pick<PendingAck, 'onAnswer' | 'onFailure'> = NO_CALLBACKS,
  ): void {
    const encoded = encodeAck(task, completion);
    this.#waiting.push({
      storedId: task.storedId,
      encoded,
      leavesTime: completion.leavesTime ?? false,
      keepsNone: completion.keepsNone ?? false,
      context: task.context,
      onAnswer,
      onFailure,
      reportsLoss: completion.verdict !== 'B',
    });
    this.#onAdded();
  }

  /**
   * Takes the acks of the next call.
   *
   * @param mayBeSplit No other call is under way, so half of the acks may go with a second one.
   * @returns the acks, the most tasks that the call may fetch, and whether it should leave the time to another worker
   */
  take(mayBeSplit: boolean): { acks: PendingAck[]; most: number; leavesTime: boolean } {
    const waiting = this.#isShared ? this.#withoutRepeated() : this.#waiting;
    const isSplit = mayBeSplit && waiting.length >= MIN_SPLIT;
    const most = Math.min(MAX_BATCH, isSplit ? Math.ceil(waiting.length / 2) : waiting.length);
    let count = 0;
    let leavesTime = false;
    for (let bytes = 0; count < most && bytes < MAX_BATCH_BYTES; count += 1) {
      bytes += waiting[count]!.encoded.length;
      leavesTime ||= waiting[count]!.leavesTime;
    }
    return { acks: this.#waiting.splice(0, count), most: isSplit ? count : MAX_BATCH, leavesTime };
  }

  /** `answers` has one character for each ack. */
  answered(acks: readonly PendingAck[], answers: Buffer, areRemoved: boolean): void {
    for (const [index, { storedId, context, onAnswer, reportsLoss }] of acks.entries()) {
      const answer = answers[index] === ACCEPTED ? '1' : String.fromCharCode(answers[index]!);
      onAnswer?.(answer, context, areRemoved);
      if (answer === '0' && reportsLoss && !onAnswer) this.#onRefused(storedId);
    }
  }

  /** The call has failed. The acks are sent again; a token is accepted only once. */
  failed(acks: readonly PendingAck[], error: unknown): void {
    const again: PendingAck[] = [];
    for (const ack of acks) {
      ack.reportsLoss = false;
      if (ack.onFailure) ack.onFailure(error);
      else again.push(ack);
    }
    this.#waiting.unshift(...again);
  }

  /** Moves repeated acks of an id to the end, and returns the acks before them. */
  #withoutRepeated(): readonly PendingAck[] {
    const ids = new Set<string>();
    const later: PendingAck[] = [];
    const now = this.#waiting.filter((ack) => {
      const id = ack.storedId.toString('latin1');
      if (!ids.has(id)) return ids.add(id);
      later.push(ack);
      return false;
    });
    if (later.length > 0) this.#waiting = [...now, ...later];
    return now;
  }
}

const NO_CALLBACKS = {};
const ACCEPTED = '1'.charCodeAt(0);
