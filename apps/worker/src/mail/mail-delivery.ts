import { InvalidMailAddressError, type Market, parseMailAddress, type Player } from '@mortise/api/market';
import { Discard, type TaskContext } from '@mortise/queues';
import type { Logger } from 'pino';

import { logAttempt } from '../log-attempt.js';
import { type Mailer, MailRefusedError } from './mailer.js';
import type { Content } from './templates.js';

/** A mail to a player, written once the player is read. */
export interface Letter {
  readonly playerId: string;
  /** The role of the player, for the log. */
  readonly role: string;
  readonly write: (recipient: Player) => Content | Promise<Content>;
}

/**
 * Sends mails to players. A mail that can't succeed (an unknown player, an invalid address, a refused recipient) is
 * dead-lettered at once; every other failure is retried.
 */
export class MailDelivery {
  readonly #market: Pick<Market, 'player'>;
  readonly #mailer: Mailer;
  readonly #log: Logger;

  constructor(market: Pick<Market, 'player'>, mailer: Mailer, log: Logger) {
    this.#market = market;
    this.#mailer = mailer;
    this.#log = log;
  }

  /**
   * Logs the outcome of the attempt with task, attempt and player, but neither address nor mail.
   * @param letter The mail, or the reason why there is none.
   */
  async attempt(task: TaskContext, letter: Letter | string): Promise<void> {
    const log = this.#log.child({
      mail: task.name,
      ...(typeof letter !== 'string' && { player: letter.playerId }),
    });
    await logAttempt(log, task, { what: 'mail', done: 'sent' }, async () => {
      if (typeof letter === 'string') throw new Discard(letter);
      await this.#send(letter, task);
      return {};
    });
  }

  async #send({ playerId, role, write }: Letter, { id, signal }: TaskContext): Promise<void> {
    const recipient = await this.#market.player(playerId);
    if (!recipient) throw new Discard(`the ${role} is unknown`);
    try {
      const content = await write(recipient);
      await this.#mailer.send({ taskId: id, to: parseMailAddress(recipient.email), ...content }, signal);
    } catch (error) {
      if (error instanceof InvalidMailAddressError || error instanceof MailRefusedError) {
        throw new Discard(error.message);
      }
      throw error;
    }
  }
}
