import { randomBytes } from 'node:crypto';
import type { RedisClient } from '@mortise/redis';
import { WaiterHub } from '@mortise/redis';
import type { Gate } from './gate.js';
import { perClient } from './per-client.js';
import { WaitLine } from './wait-line.js';

/** All locks of one client, as the others see them: one id, one channel for each lock, one line for each lock. */
export class Contender {
  /** 96 random bits, without `.` and `:`. */
  readonly id = randomBytes(12).toString('base64url');
  /** The contender of a client. The same client always gives the same one. */
  static readonly of = perClient((client) => new Contender(client));
  readonly #hub: WaiterHub;
  readonly #lines = new Map<string, WaitLine>();
  #turns = 0;

  private constructor(client: RedisClient) {
    this.#hub = WaiterHub.of(client);
  }

  /** The id of one turn: unique in this contender, made of digits and letters. */
  nextTurn(): string {
    this.#turns += 1;
    return this.#turns.toString(36);
  }

  /** The line of a lock, if somebody has waited for it lately. */
  openLine(gate: Gate): WaitLine | undefined {
    return this.#lines.get(gate.id);
  }

  /** The line of a lock; a new one subscribes. */
  line(gate: Gate): WaitLine {
    const known = this.#lines.get(gate.id);
    if (known) {
      known.use(gate);
      return known;
    }
    const line = new WaitLine(gate, this.id, this.#hub, () => {
      if (this.#lines.get(gate.id) === line) this.#lines.delete(gate.id);
    });
    this.#lines.set(gate.id, line);
    return line;
  }

  /** The member that has waited for the lock for longest here, if any. */
  firstWaiting(gate: Gate): string | undefined {
    return this.#lines.get(gate.id)?.first;
  }
}
