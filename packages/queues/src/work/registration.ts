/**
 * The registration of a fetcher as an idle worker of its shard. The server sends wake-ups and hand-offs to idle workers, and
 * forgets those whose recheck is late.
 *
 *   none ──a call with free slots is sent──► uncertain ──its reply fills them──► none
 *                                                │ its reply doesn't, or the call fails
 *   none ◄──a reply without free slots── listed ◄┘
 *                                          │ a hand-off takes the slots
 *                                          └──► outdated ──the next call──► listed, until its reply
 *
 *   none       The server doesn't list the worker.
 *   uncertain  A call that may register the worker is under way.
 *   listed     The server may list the worker until an instant.
 *   outdated   As listed, but without a free slot: the next call has to remove the registration.
 */
import type { Shard } from '../shard/shard.js';
import type { HandOff } from './hand-off.js';

/** An idle worker that nothing is due for looks again after this time. */
const MAX_QUIET_MS = 20_000;
/** The server forgets an idle worker whose recheck is late by this time; the same is in fetcher.idle.section.lua. */
const GRACE_MS = 1_000;

export interface RegistrationOptions {
  readonly shard: Shard;
  readonly workerId: string;
  /** After this time, one of several idle workers looks whether the timekeeper has died. */
  readonly recheckMs: number;
  /** The lease of a task that an enqueue hands off to this worker; 0: none. */
  readonly handOffMs: number;
}

export class Registration {
  /** How long the server lists the worker after a call. */
  readonly idleMs: number;
  readonly #options: RegistrationOptions;
  #state: 'none' | 'uncertain' | 'listed' | 'outdated' = 'none';
  /** While listed or outdated, by `performance.now()`. */
  #until = -Infinity;
  /** The server's time of the last reply, µs. */
  #repliedAtUs = -Infinity;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.idleMs = Math.max(MAX_QUIET_MS, options.recheckMs) + GRACE_MS;
  }

  /** Whether the server may send this worker wake-ups and hand-offs. */
  get mayExist(): boolean {
    return this.#state === 'uncertain' || (this.#state !== 'none' && performance.now() < this.#until);
  }

  get isOutdated(): boolean {
    return this.#state === 'outdated';
  }

  /** The worker as a member of `idle`, under the settings that the worker knows now. */
  get member(): string {
    const { shard, workerId, handOffMs } = this.#options;
    const { text: settings, usesOptional, values } = shard.settings;
    // With shards, a task of another one may have to go first.
    const takesHandOffs = handOffMs > 0 && values.servedShards === 1 && !usesOptional;
    return shard.keys.idleMember(workerId, takesHandOffs ? { leaseMs: handOffMs, settings } : undefined);
  }

  sent(slots: number): void {
    if (slots > 0) this.#state = 'uncertain';
    else if (this.#state === 'outdated') this.#state = 'listed';
  }

  /** `isFull`: the call left no slot free, so the server removed the registration. */
  replied(isFull: boolean, nowUs: number): void {
    this.#repliedAtUs = Math.max(this.#repliedAtUs, nowUs);
    this.#state = isFull ? 'none' : 'listed';
    this.#until = performance.now() + this.idleMs;
  }

  failed(sentAt: number): void {
    if (this.#state !== 'uncertain') return;
    this.#state = 'listed';
    this.#until = sentAt + this.idleMs;
  }

  /** Whether the server listed the worker again after it made a hand-off, which had removed the worker from the list. */
  isNewerThan(handOff: HandOff): boolean {
    return this.#state === 'listed' && this.#repliedAtUs > handOff.nowUs;
  }

  /** Hand-offs have taken the free slots. */
  outdate(): void {
    if (this.#state === 'listed') this.#state = 'outdated';
  }
}
