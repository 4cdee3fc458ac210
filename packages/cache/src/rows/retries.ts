/**
 * Tries rows of one shard again whose last load failed, beside all others.
 *
 * Those are the rows that hang and the good ones that failed beside them, and nobody knows which is which until each has been tried. The slots
 * for them are few, and each row that hangs has one for the whole of its time. So rows that are known to hang have half of
 * the slots at most; the others are for those of which that is not known (suspects). A suspect that hangs takes a short time of a slot, once
 * together with others and once alone, and is known then. With H such rows of S suspects, and as many slots as processes have together for
 * suspects, the last good row is tried after (H + min(H, S / 16)) / slots + 2 of these times and its own pauses, whatever the rows that hang do
 * meanwhile. The slots are of all shards of a table, and for those of rows that hang the shards stand in line: one whose rows always hang has one in its turn. Rejected: one line for all, by the number of failures or by their pauses. Rows that hang come back to it after each pause, and with
 * dozens of them the good ones wait for many leases.
 */
import { Loop } from '@mortise/redis';
import type { Claim, FailingDue } from './claim.js';
import type { Claims } from './claims.js';
import type { TableWork } from './shard-refresher.js';

/** What a claim of such rows is for. */
export interface RetriesOptions {
  readonly onError: (error: unknown) => void;
  /** Loads and commits the rows; never rejects. */
  readonly run: (claim: Claim, claimedAt: number) => Promise<void>;
}

/** Of one shard, in one process. Sends nothing while no row of it failed. */
export class Retries {
  readonly #claims: Claims;
  readonly #work: TableWork;
  readonly #run: RetriesOptions['run'];
  readonly #claiming: Loop;
  /** When rows are due, on the clock of `performance.now()`. */
  #suspectAt = Infinity;
  #hungAt = Infinity;
  /** For a row that is known to hang. */
  #hungSlot: 'none' | 'wanted' | 'held' = 'none';
  #isClaiming = false;
  #isStopped = true;

  constructor(claims: Claims, work: TableWork, { onError, run }: RetriesOptions) {
    this.#claims = claims;
    this.#work = work;
    this.#run = run;
    const name = `mortise refresher of failed rows of table "${work.table.keys.table}"`;
    this.#claiming = new Loop(name, (signal) => this.#claim(signal), { onError });
  }

  start(): void {
    this.#isStopped = false;
    this.#claiming.start();
  }

  /** Claims nothing more. Does not wait for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#claiming.stop();
    if (this.#takeHungSlot()) this.#work.hungSlots.free();
  }

  /** Hears when rows are due. */
  expect({ suspectInMs, hungInMs }: FailingDue): void {
    const now = performance.now();
    this.#suspectAt = Math.min(this.#suspectAt, now + suspectInMs);
    this.#hungAt = Math.min(this.#hungAt, now + hungInMs);
    if (this.#dueAt < Infinity) this.#claiming.wake();
  }

  /** Rows may be due earlier than expected, if there are any. */
  hurry(): void {
    const isAny = this.#isClaiming || Math.min(this.#suspectAt, this.#hungAt) < Infinity;
    if (isAny) this.expect({ suspectInMs: 0, hungInMs: 0 });
  }

  async #claim(signal: AbortSignal): Promise<number> {
    this.#askForHungSlot();
    if (this.#pauseMs > 0) return this.#pauseMs;
    const { retrySlots, hungSlots } = this.#work;
    await retrySlots.take();
    let hasHungSlot = this.#takeHungSlot();
    let isRunning = false;
    try {
      if (signal.aborted) return 0;
      // Whatever is heard while the claim is under way only lowers these.
      this.#suspectAt = Infinity;
      this.#hungAt = Infinity;
      this.#isClaiming = true;
      const claimedAt = performance.now();
      const claim = await this.#claims.retry(hasHungSlot);
      this.expect(claim);
      if (claim.ids.length > 0) {
        isRunning = true;
        const { isHung } = claim;
        void this.#run(claim, claimedAt).then(() => this.#end(isHung));
        if (isHung) hasHungSlot = false;
      }
    } catch (error) {
      this.#suspectAt = 0;
      this.#hungAt = 0;
      throw error;
    } finally {
      this.#isClaiming = false;
      if (hasHungSlot) hungSlots.free();
      if (!isRunning) retrySlots.free();
    }
    return this.#pauseMs;
  }

  #end(isHung: boolean): void {
    const { retrySlots, hungSlots } = this.#work;
    if (isHung) hungSlots.free();
    retrySlots.free();
    if (this.#dueAt < Infinity) this.#claiming.wake();
  }

  /** When such a row is due, and not sooner: others wait for it. */
  #askForHungSlot(): void {
    if (this.#hungSlot !== 'none' || this.#hungAt > performance.now()) return;
    this.#hungSlot = 'wanted';
    void this.#hold();
  }

  async #hold(): Promise<void> {
    const { hungSlots } = this.#work;
    await hungSlots.take();
    this.#hungSlot = 'held';
    if (!this.#isStopped) this.#claiming.wake();
    else if (this.#takeHungSlot()) hungSlots.free();
  }

  #takeHungSlot(): boolean {
    if (this.#hungSlot !== 'held') return false;
    this.#hungSlot = 'none';
    return true;
  }

  /** Rows that are known to hang wait for one of their slots. */
  get #dueAt(): number {
    return Math.min(this.#suspectAt, this.#hungSlot === 'wanted' ? Infinity : this.#hungAt);
  }

  get #pauseMs(): number {
    return this.#dueAt - performance.now();
  }
}
