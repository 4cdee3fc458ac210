/** The traffic of the market: items are offered, now, later or for a while; others buy them by script or by lock. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, ServiceClient } from './client.js';
import { slugOf } from './client.js';

export const PLAYERS = Array.from({ length: 10 }, (_, n) => `player${n}`);
export const FUNDS = 1_000;
const MOST_PRICE = 97;
const TRADERS = 8;
/** The shortest time for which a listing stands. */
const STANDS_MS = 1_000;
const OPENS_IN_MS = 300;
const PAUSE_MS = 50;

type Times = Pick<Answer, 'calledAt' | 'answeredAt'>;

export interface Sale extends Times {
  readonly id: string;
  readonly itemId: string;
  readonly sellerId: string;
  readonly buyerId: string;
  readonly price: number;
}

export class Trade {
  readonly sales: Sale[] = [];
  /** Offers that nobody accepts, by the task of the mail to the seller. */
  readonly expired = new Map<string, Times>();
  /** Reset mails by task. */
  readonly resets = new Map<string, Times>();
  /** Tasks of reset mails that were asked for, whatever the answer, and those of mails of offers to expire, without the time of the listing. */
  readonly asked = new Set<string>();
  /** Items with the time in which they were given and offered. */
  readonly items = new Map<string, Times>();
  /** Listings and items that the market did not know any more. */
  readonly forgotten: (Times & { readonly what: string })[] = [];
  readonly #client: ServiceClient;
  readonly #onSale: (sale: Sale) => Promise<unknown>;
  #count = 0;

  /** @param onSale Called with each sale; the next trade waits for it. */
  constructor(client: ServiceClient, onSale: (sale: Sale) => Promise<unknown>) {
    this.#client = client;
    this.#onSale = onSale;
  }

  async prepare(): Promise<void> {
    for (const id of PLAYERS) {
      const body = { name: id, email: `${id}@fake-game.example`, funds: FUNDS };
      await this.#client.get('PUT', `market/players/${id}`, { body });
    }
  }

  /** Trades until the signal is aborted; resolves once the last trade is over. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      Array.from({ length: TRADERS }, async () => {
        while (!signal.aborted) await this.#trade((this.#count += 1));
      }),
    );
  }

  async #trade(nth: number): Promise<void> {
    const [sellerId, buyerId] = [any(PLAYERS), any(PLAYERS)];
    const price = 1 + Math.floor(Math.random() * MOST_PRICE);
    const itemId = `item-${nth}`;
    const given = await this.#client.get('PUT', `market/players/${sellerId}/items/${itemId}`);
    if (nth % 20 === 0) await this.#reset(sellerId, nth);
    const isToExpire = nth % 10 === 1;
    const body = {
      sellerId,
      itemId,
      price,
      ...(isToExpire && { expiresInMs: STANDS_MS }),
      ...(nth % 10 === 2 && { opensAt: Date.now() + OPENS_IN_MS }),
      strategy: nth % 3 === 0 ? 'lock' : 'script',
    };
    if (isToExpire) this.asked.add(`expired:offer-${nth}`);
    const listing = await this.#offer(body, `offer-${nth}`);
    this.items.set(itemId, { calledAt: given.calledAt, answeredAt: listing.answeredAt });
    if (listing.status >= 300) {
      this.forgotten.push({ ...listing, calledAt: given.calledAt, what: `${itemId}: ${slugOf(listing)}` });
      return;
    }
    const { id, listedAt } = listing.document;
    if (isToExpire) this.expired.set(`expired:${id}:${listedAt}`, listing);
    else if (buyerId === sellerId) await this.#withdraw(id, sellerId, listing);
    else await this.#buy({ id, itemId, sellerId, buyerId, price, nth }, listing);
  }

  async #reset(playerId: string, nth: number): Promise<void> {
    const requestKey = `reset-${nth}`;
    this.asked.add(`reset:${playerId}:${requestKey}`);
    const reset = await this.#client
      .send('POST', 'market/password-resets', { body: { playerId }, requestKey })
      .catch(() => undefined);
    // Three an hour for each player. A request that is refused, or has no answer, need not send a mail.
    if (reset?.status === 202) this.resets.set(reset.document.taskId, reset);
  }

  #offer(body: object, requestKey: string): Promise<Answer> {
    return this.#settled('POST', 'market/listings', { body, requestKey });
  }

  async #buy(
    order: {
      id: string;
      itemId: string;
      sellerId: string;
      buyerId: string;
      price: number;
      nth: number;
    },
    listing: Answer,
  ): Promise<void> {
    const { id, itemId, sellerId, buyerId, price, nth } = order;
    const strategy = nth % 2 === 0 ? 'lock' : 'script';
    const body = { buyerId, expectedPrice: price, strategy };
    const path = `market/listings/${id}/purchases`;
    const sale = await this.#settled('POST', path, { body, requestKey: `buy-${nth}` });
    if (sale.status < 300) {
      const made = { ...sale, id: sale.document.id as string, itemId, sellerId, buyerId, price };
      this.sales.push(made);
      await this.#onSale(made);
    } else if (slugOf(sale) === 'insufficient-funds') await this.#withdraw(id, sellerId, listing);
    else this.forgotten.push({ ...sale, calledAt: listing.calledAt, what: `${id}: ${slugOf(sale)}` });
  }

  async #withdraw(id: string, sellerId: string, listing: Answer): Promise<void> {
    const gone = await this.#settled('DELETE', `market/listings/${id}?sellerId=${sellerId}`);
    if (gone.status >= 300)
      this.forgotten.push({ ...gone, calledAt: listing.calledAt, what: `${id}: ${slugOf(gone)}` });
  }

  /** Repeats the request while its refusal is a matter of time. */
  async #settled(...request: Parameters<ServiceClient['ask']>): Promise<Answer> {
    for (let calledAt: number | undefined; ;) {
      const answer = await this.#client.ask(...request);
      calledAt ??= answer.calledAt;
      if (!['not-open', 'lock-timeout', 'stale-token'].includes(slugOf(answer)))
        return { ...answer, calledAt };
      await pause(PAUSE_MS);
    }
  }
}

function any<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)]!;
}
