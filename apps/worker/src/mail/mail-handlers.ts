import { ID, MAIL_QUEUE, type Market } from '@mortise/api/market';
import type { TaskContext } from '@mortise/queues';
import { TaskHandler } from '@mortise/queues/nestjs';
import { z } from 'zod';

import type { MailDelivery } from './mail-delivery.js';
import { expired, passwordReset, sold } from './templates.js';

// Further fields are ignored, for newer producers.
const id = z.string().regex(ID);
const Reset = z.object({ playerId: id });
const Listing = z.object({ sellerId: id, itemId: z.string().min(1), price: z.int().min(0) });
const Sale = Listing.extend({ buyerId: id });

const FOR_MAILS = { queue: MAIL_QUEUE } as const;

/** The mails of the game, each to one player. A task with an invalid payload is dead-lettered at once. */
export class MailHandlers {
  readonly #market: Pick<Market, 'player'>;
  readonly #delivery: MailDelivery;

  constructor(market: Pick<Market, 'player'>, delivery: MailDelivery) {
    this.#market = market;
    this.#delivery = delivery;
  }

  /** Tells players how to choose a new password. The task expires, so that no mail arrives long after its request. */
  @TaskHandler('mail.password-reset', FOR_MAILS)
  async passwordReset(payload: unknown, task: TaskContext): Promise<void> {
    const { data } = Reset.safeParse(payload);
    if (!data) return this.#delivery.attempt(task, 'the payload is not that of a password reset');
    await this.#delivery.attempt(task, {
      playerId: data.playerId,
      role: 'player',
      write: ({ name }) => passwordReset({ requestId: task.id, playerName: name }),
    });
  }

  /** Tells the seller of an item. */
  @TaskHandler('mail.sold', FOR_MAILS)
  async sold(payload: unknown, task: TaskContext): Promise<void> {
    const { data } = Sale.safeParse(payload);
    if (!data) return this.#delivery.attempt(task, 'the payload is not that of a sale');
    const { sellerId, buyerId, itemId, price } = data;
    await this.#delivery.attempt(task, {
      playerId: sellerId,
      role: 'seller',
      write: async ({ name }) => {
        const buyer = await this.#market.player(buyerId);
        const buyerName = buyer?.name ?? buyerId;
        return sold({ saleId: task.id, sellerName: name, buyerName, itemId, price });
      },
    });
  }

  /** Tells the seller that nobody bought an item and that it has returned. */
  @TaskHandler('mail.expired', FOR_MAILS)
  async expired(payload: unknown, task: TaskContext): Promise<void> {
    const { data } = Listing.safeParse(payload);
    if (!data) return this.#delivery.attempt(task, 'the payload is not that of a listing');
    const { sellerId, itemId, price } = data;
    await this.#delivery.attempt(task, {
      playerId: sellerId,
      role: 'seller',
      write: ({ name }) => expired({ sellerName: name, itemId, price }),
    });
  }
}
