import { ID, InvalidMailAddressError, type Market, parseMailAddress } from '@mortise/api/market';
import { Discard, type TaskContext } from '@mortise/queues';
import type { Logger } from 'pino';
import { z } from 'zod';

import { type Mailer, MailRefusedError } from './mailer.js';
import { sold } from './templates.js';

/** The payload of `mail.sold`. Further fields are ignored, so that newer producers fit. */
const Sale = z.object({
  sellerId: z.string().regex(ID),
  itemId: z.string().min(1),
  price: z.int().min(0),
  buyerId: z.string().regex(ID),
});

type Sale = z.infer<typeof Sale>;

/**
 * Mails the seller of an item. What can't succeed (a payload of another shape, an unknown seller, an address that is
 * none, a recipient that the server refuses) goes to the dead letters at once; everything else is tried again.
 */
export class MailSoldHandler {
  readonly #market: Pick<Market, 'player'>;
  readonly #mailer: Mailer;
  readonly #log: Logger;

  constructor(market: Pick<Market, 'player'>, mailer: Mailer, log: Logger) {
    this.#market = market;
    this.#mailer = mailer;
    this.#log = log;
  }

  /** Logs how the attempt ended: the task, the attempt and the player, but neither the address nor the mail. */
  async handle(payload: unknown, task: TaskContext): Promise<void> {
    const startedAt = performance.now();
    const parsed = Sale.safeParse(payload);
    const log = this.#log.child({
      task: task.id,
      attempt: task.attempt,
      attempts: task.attempts,
      player: parsed.data?.sellerId,
    });
    try {
      if (!parsed.success) throw new Discard('the payload is not that of a sale');
      await this.#mail(parsed.data, task);
      log.info({ ms: Math.round(performance.now() - startedAt) }, 'mail sent');
    } catch (error) {
      const { message, code } = error as Error & { code?: string };
      if (error instanceof Discard) log.error({ reason: message }, 'mail discarded');
      else if (task.signal.aborted) log.warn({ reason: message }, 'mail abandoned');
      else log[task.attempt < task.attempts ? 'warn' : 'error']({ reason: message, code }, 'mail failed');
      throw error;
    }
  }

  async #mail(sale: Sale, { id, signal }: TaskContext): Promise<void> {
    const [seller, buyer] = await Promise.all([
      this.#market.player(sale.sellerId),
      this.#market.player(sale.buyerId),
    ]);
    if (!seller) throw new Discard('the seller is unknown');
    try {
      const content = sold({
        saleId: id,
        sellerName: seller.name,
        buyerName: buyer?.name ?? sale.buyerId,
        itemId: sale.itemId,
        price: sale.price,
      });
      await this.#mailer.send({ taskId: id, to: parseMailAddress(seller.email), ...content }, signal);
    } catch (error) {
      if (error instanceof InvalidMailAddressError || error instanceof MailRefusedError) {
        throw new Discard(error.message);
      }
      throw error;
    }
  }
}
