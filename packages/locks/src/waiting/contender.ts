import { randomBytes } from 'node:crypto';
import type { RedisClient } from '@mortise/redis';
import { requireClient, WaiterHub } from '@mortise/redis';
import type { MutexKeys } from './keys.js';
import { MutexCommands } from './mutex-commands.js';
import { WaitLine } from './wait-line.js';

const contenders = new WeakMap<object, Contender>();

/** All mutexes of one client, as the others see them: one id, one channel for each lock, one line for each lock. */
export class Contender {
  /** 96 random bits, without `.` and `:`. */
  readonly id = randomBytes(12).toString('base64url');
  readonly commands: MutexCommands;
  readonly #hub: WaiterHub;
  readonly #lines = new Map<string, WaitLine>();
  #turns = 0;

  /** The contender of a client. The same client always gives the same one. */
  static of(client: RedisClient): Contender {
    let contender = contenders.get(client);
    if (!contender) {
      contender = new Contender(requireClient(client));
      contenders.set(client, contender);
    }
    return contender;
  }

  private constructor(client: RedisClient) {
    this.#hub = WaiterHub.of(client);
    this.commands = new MutexCommands(client, this.#hub.publishCommand);
  }

  /** The id of one turn: unique in this contender, made of digits and letters. */
  nextTurn(): string {
    this.#turns += 1;
    return this.#turns.toString(36);
  }

  /** The line of a lock, if its channel is subscribed already. */
  openLine(keys: MutexKeys): WaitLine | undefined {
    const line = this.#lines.get(keys.lease);
    return line?.isOpen ? line : undefined;
  }

  /** The line of a lock; a new one subscribes. */
  line(keys: MutexKeys): WaitLine {
    const known = this.#lines.get(keys.lease);
    if (known) return known;
    const line = new WaitLine(keys, keys.channels + this.id, this.#hub, this.commands, () => {
      if (this.#lines.get(keys.lease) === line) this.#lines.delete(keys.lease);
    });
    this.#lines.set(keys.lease, line);
    return line;
  }
}
