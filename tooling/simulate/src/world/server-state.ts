/** The clock of the server, which may jump and drift, and what a server loses: keys, or its last writes. */
import type { Fault, Plan } from '../plan.js';
import type { Request } from './connection.js';

export type Executed = Pick<Request, 'kind' | 'command' | 'args'>;

/** Between these instants, ms since the world began, something happened to the server. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The server forgot what it executed between these instants. */
export interface Loss extends Span {
  /** It forgot all that it had executed before, too. */
  readonly isAll: boolean;
}

export interface Entry {
  readonly at: number;
  readonly serverAt: number;
  readonly executed: Executed;
}

/** A jump in terms of `ms` of its fault. */
const JUMP = 10;
const MOST_DRIFT = 0.2;
/** A replica lags by less. */
const MOST_LOST_MS = 400;
const SUBSCRIBES = /subscribe$/;
const FLUSH: Executed = { kind: 'call', command: 'flushall', args: [] };

export class ServerState {
  /** FLUSHALL, and failovers. */
  readonly losses: Loss[] = [];
  /** When leases and expiries may have ended early or late. */
  readonly skews: Span[] = [];
  /** Commands whose effects a loss has undone. */
  readonly forgotten: Entry[] = [];
  readonly #worldNow: () => number;
  readonly #hasLosses: boolean;
  /** Keys that are lost take the numbers with them that only rise: a clock that goes back too has no remedy. */
  readonly #mayGoBack: boolean;
  readonly #journal: Entry[] = [];
  #base = 0;
  #since = 0;
  #speed = 1;
  #replayedAt: number | undefined;

  constructor({ faults }: Plan, worldNow: () => number) {
    this.#worldNow = worldNow;
    const kinds = new Set(faults.map(({ kind }) => kind));
    this.#hasLosses = kinds.has('failover') || kinds.has('flush all');
    this.#mayGoBack = !this.#hasLosses;
  }

  /** ms since its epoch, by its own clock. */
  now(): number {
    return this.#replayedAt ?? this.#base + (this.#worldNow() - this.#since) * this.#speed;
  }

  /** Notes a command that is executed now. */
  note({ kind, command, args }: Executed): void {
    if (!this.#hasLosses) return;
    const executed = SUBSCRIBES.test(command) ? { kind, command: 'ping', args: [] } : { kind, command, args };
    this.#journal.push({ at: this.#worldNow(), serverAt: this.now(), executed });
  }

  /** Forgets all commands. */
  flushAll(): void {
    const now = this.#worldNow();
    this.losses.push({ from: now, to: now, isAll: true });
    this.forgotten.push(...this.#journal);
    // A replica may have lost the FLUSHALL itself, so the commands before it are kept.
    this.#journal.push({ at: now, serverAt: this.now(), executed: FLUSH });
  }

  /** Forgets the last commands. Returns the others. */
  failOver({ ms }: Fault): readonly Entry[] {
    const from = this.#worldNow() - Math.min(ms, MOST_LOST_MS);
    this.losses.push({ from, to: this.#worldNow(), isAll: false });
    const kept = this.#journal.findLastIndex(({ at }) => at <= from) + 1;
    this.forgotten.push(...this.#journal.splice(kept));
    return this.#journal;
  }

  /** Whether the effects of a call may be gone. @param returnedAt Infinity for a call without a reply. */
  mayHaveForgotten(calledAt: number, returnedAt: number): boolean {
    return this.losses.some(({ from, to, isAll }) => calledAt <= to && (isAll || returnedAt >= from));
  }

  /** Executes commands anew, each at its instant. */
  replay(entries: readonly Entry[], execute: (executed: Executed) => void): void {
    for (const { serverAt, executed } of entries) {
      this.#replayedAt = serverAt;
      execute(executed);
    }
    this.#replayedAt = undefined;
  }

  /** Returns by how much, ms. */
  jump({ ms, arrives }: Fault): number {
    const by = JUMP * ms * (this.#mayGoBack ? (arrives - 0.5) * 2 : arrives);
    this.#set(this.now() + by, this.#speed);
    this.skews.push({ from: this.#worldNow(), to: this.#worldNow() });
    return by;
  }

  /** For the rest of the run. Returns the speed. */
  drift({ target }: Fault): number {
    this.#set(this.now(), 1 + MOST_DRIFT * (target - 0.5));
    this.skews.push({ from: this.#worldNow(), to: Infinity });
    return this.#speed;
  }

  #set(base: number, speed: number): void {
    this.#base = base;
    this.#since = this.#worldNow();
    this.#speed = speed;
  }
}
