/**
 * One caller's way to the lock: ask, then wait in the queue, then be granted it by the one who releases it.
 *
 * A turn asks before it subscribes, so that a lock without contention costs no subscription. The first waiter of a
 * line therefore queues unheard: a release that finds nobody listening drops it, and the re-check that follows the
 * subscription puts it back in its place. While the line stays open, asking is the only command of a turn.
 */
import type { Waiter } from '@mortise/redis';
import type { Contender } from './contender.js';
import type { AcquireReply, Gate } from './gate.js';
import type { Queued, WaitLine } from './wait-line.js';

/** The lock is held, from `startsAt` on the clock of `performance.now()` for `termMs`. */
export interface Grant {
  readonly member: string;
  readonly fencingToken: number;
  readonly startsAt: number;
  readonly termMs: number;
}

export interface TurnOptions {
  readonly name: string;
  readonly gate: Gate;
  readonly leaseMs: number;
  readonly isFair: boolean;
  readonly isFenced: boolean;
  /** What the waiter wants of a lock that knows more than one thing to want. */
  readonly role?: string;
}

/** What a granted waiter has to confirm within, by its first renewal: a waiter that is dead costs no more than this. */
const CLAIM_MS = 1_000;

/** The one who waits, as others see it: `<contender>.<turn>.<claim in ms>`, and `.<role>` if it has one. */
export function memberOf(
  contender: Contender,
  turn: string,
  { leaseMs, role }: Pick<TurnOptions, 'leaseMs' | 'role'>,
): string {
  const member = `${contender.id}.${turn}.${Math.min(leaseMs, CLAIM_MS)}`;
  return role === undefined ? member : `${member}.${role}`;
}

export class Turn implements Queued {
  readonly member: string;
  readonly quarantineMs: number;
  /** Null when the lock was granted and the claim ran out before it was heard of. Ends in any way after `leave`. */
  readonly granted: Promise<Grant | null>;
  readonly #id: string;
  readonly #contender: Contender;
  readonly #options: TurnOptions;
  #place = 0;
  #line: WaitLine | undefined;
  #seat: Waiter | undefined;
  #sent: Promise<unknown> | undefined;
  #hasLeft = false;

  constructor(contender: Contender, options: TurnOptions) {
    this.#contender = contender;
    this.#options = options;
    this.#id = contender.nextTurn();
    this.member = memberOf(contender, this.#id, options);
    this.quarantineMs = options.isFenced ? options.leaseMs : 0;
    this.granted = this.#run();
  }

  get place(): number {
    return this.#place;
  }

  get waitsFor(): string {
    return this.#options.name;
  }

  /** Why the state of the queue could not be looked at lately, if it could not. */
  get failure(): unknown {
    return this.#line?.failure;
  }

  deliver(body: Buffer): void {
    this.#seat?.deliver(body);
  }

  /** Gives up: leaves the queue, and passes on a grant that is on its way. Sends that once nothing is in flight. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#sitDown();
    if (this.#sent) void this.#giveBack(this.#sent);
  }

  async #run(): Promise<Grant | null> {
    const { gate, leaseMs } = this.#options;
    try {
      const open = this.#contender.openLine(gate);
      if (open) this.#seat = await open.seat(this.#id);
      while (!this.#hasLeft) {
        const reply = await this.#ask();
        if (reply.outcome === 'held') {
          return { member: this.member, fencingToken: reply.value, startsAt: reply.sentAt, termMs: leaseMs };
        }
        if (this.#hasLeft) break;
        const line = this.#contender.line(gate);
        this.#enter(line, reply);
        if (!this.#seat) {
          this.#seat = await line.seat(this.#id);
          line.recheckSoon();
        } else if (reply.remainingMs < 0) {
          line.recheckSoon();
        }
        const grant = await this.#listen(line, this.#seat);
        if (grant !== 'woken') return grant;
      }
      return null;
    } finally {
      this.#sitDown();
    }
  }

  #ask(): Promise<AcquireReply> {
    const { gate, leaseMs, isFair, isFenced } = this.#options;
    const mode = isFair ? 'wait' : 'barge';
    const reply = gate.acquire({ member: this.member, leaseMs, mode, isFenced });
    this.#sent = reply;
    return reply;
  }

  #enter(line: WaitLine, reply: AcquireReply): void {
    this.#place = reply.value;
    this.#line = line;
    line.enter(this, reply);
  }

  /**
   * A message is `<token>:<µs of the server>:<rest of the member>`, or `!<why it is refused>`. Without a token, the lock is
   * free for whoever asks first.
   */
  async #listen(line: WaitLine, seat: Waiter): Promise<Grant | null | 'woken'> {
    while (!this.#hasLeft) {
      const wake = await seat.next();
      if (wake.type === 'timeout') return null;
      // The line re-checks after an interruption, for all who wait.
      if (wake.type === 'resync') continue;
      const body = wake.body.toString();
      if (body.startsWith('!')) throw this.#refusal(body.slice(1));
      const [fencingToken = 0, grantedUs = 0] = body.split(':', 2).map(Number);
      const startsAt = line.localTime(grantedUs);
      const termMs = Math.min(this.#options.leaseMs, CLAIM_MS);
      // A grant that was under way for half its claim may be over, and even have been made again since, with a greater
      // token. Who asks again hears how it is now.
      if (fencingToken === 0 || performance.now() >= startsAt + termMs / 2) return 'woken';
      return { member: this.member, fencingToken, startsAt, termMs };
    }
    return null;
  }

  #refusal(detail: string): Error {
    return this.#options.gate.refusal?.(detail) ?? new TypeError(`refused: ${detail}`);
  }

  #sitDown(): void {
    this.#line?.exit(this);
    this.#seat?.close();
  }

  async #giveBack(sent: Promise<unknown>): Promise<void> {
    const { gate, isFair } = this.#options;
    try {
      await sent;
    } catch {
      // The command may have been carried out all the same.
    }
    try {
      await gate.release({ member: this.member, fencingToken: 0 }, isFair);
    } catch {
      // Without a connection nothing can be given back: the claim or the lease runs out by itself.
    }
  }
}
