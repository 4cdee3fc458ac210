/**
 * The queue of completions of one shard: attempts that have ended and that the server doesn't know of yet. The executor adds
 * them; the fetcher takes them into its next call and returns the answers.
 *
 *   added ──take──► under way ──answered──► done     or, when the call failed: ──► added again
 *
 * It has no timer and no loop of its own, so it needs no start and no stop: what it holds is sent by the fetcher, which stops
 * when it is empty.
 */
import type { Completion } from './completion.js';
import { encodeAck } from './completion.js';
import type { FetchedTask } from './fetch-and-ack.js';

/** Acks in one call: bounds how long it holds the server (about 3 ms). */
const MAX_BATCH = 500;
/** A call ends with the result that makes it longer than this. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** From this number on, acks are divided into two calls, so that one is under way while the other runs. */
const MIN_SPLIT = 32;

export interface PendingAck {
  readonly storedId: Buffer;
  readonly encoded: Buffer;
  /** Called with the answer of the script: 1, 0 or C. */
  readonly onAnswer?: ((answer: string) => void) | undefined;
  /** Called when the call has failed; without it the ack is sent again. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** A refusal is news: the ack is not repeated, and the lease was not known to be lost. */
  isNews: boolean;
}

export type AttemptToken = Pick<FetchedTask, 'storedId' | 'token'>;

export class Completer {
  /** Called when there is something to take. */
  onAdded: () => void = () => undefined;
  readonly #onRefused: (storedId: Buffer) => void;
  readonly #isShared: boolean;
  #waiting: PendingAck[] = [];

  /**
   * @param onRefused The lease of a task was lost, and nothing else has said so.
   * @param isShared Several callers may complete the same task: no call has two acks of one id.
   */
  constructor(onRefused: (storedId: Buffer) => void, isShared = false) {
    this.#onRefused = onRefused;
    this.#isShared = isShared;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(
    { storedId, token }: AttemptToken,
    completion: Completion,
    callbacks: Pick<PendingAck, 'onAnswer' | 'onFailure'> = {},
  ): void {
    const encoded = encodeAck(token, completion);
    this.#waiting.push({ storedId, encoded, ...callbacks, isNews: completion.verdict !== 'B' });
    this.onAdded();
  }

  /**
   * The acks of the next call, and how many tasks it may fetch.
   *
   * @param mayBeSplit No call is under way: half of the acks may go with another one.
   */
  take(mayBeSplit: boolean): { acks: PendingAck[]; most: number } {
    const waiting = this.#isShared ? this.#withoutRepeated() : this.#waiting;
    const isSplit = mayBeSplit && waiting.length >= MIN_SPLIT;
    const most = Math.min(MAX_BATCH, isSplit ? Math.ceil(waiting.length / 2) : waiting.length);
    let count = 0;
    for (let bytes = 0; count < most && bytes < MAX_BATCH_BYTES; count += 1) {
      bytes += waiting[count]!.encoded.length;
    }
    return { acks: this.#waiting.splice(0, count), most: isSplit ? count : MAX_BATCH };
  }

  /** One character an ack. */
  answered(acks: readonly PendingAck[], answers: Buffer): void {
    for (const [index, { storedId, onAnswer, isNews }] of acks.entries()) {
      const answer = answers[index] === ACCEPTED ? '1' : String.fromCharCode(answers[index]!);
      onAnswer?.(answer);
      if (answer === '0' && isNews && !onAnswer) this.#onRefused(storedId);
    }
  }

  /** The call has failed. A second ack is harmless: its token no longer fits. */
  failed(acks: readonly PendingAck[], error: unknown): void {
    const again: PendingAck[] = [];
    for (const ack of acks) {
      ack.isNews = false;
      if (ack.onFailure) ack.onFailure(error);
      else again.push(ack);
    }
    this.#waiting.unshift(...again);
  }

  /** Moves second acks of an id to the end; returns those before. */
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

const ACCEPTED = '1'.charCodeAt(0);
