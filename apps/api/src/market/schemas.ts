/** Requests and responses of the market's routes; the OpenAPI document is made from the same schemas. */
import { z } from 'zod';

import { idSchema } from '../http/id-schema.js';
import { cursor, limit, nextCursor } from '../http/page.js';
import { MAX_MAIL_ADDRESS_BYTES, isMailAddress } from './mail-address.js';
import { MAX_COINS, MAX_TERM_MS, MIN_TERM_MS } from './options.js';
import { PLAYER_NAME } from './profile.js';
import { STRATEGIES } from './types.js';

const id = (example: string) => idSchema.meta({ examples: [example] });
const coins = (min: number) =>
  z
    .int()
    .min(min)
    .max(MAX_COINS)
    .meta({ examples: [97] });
const instant = z
  .int()
  .min(0)
  .meta({ description: 'ms since the epoch', examples: [1_795_176_000_000] });

const profile = {
  name: z
    .string()
    .regex(PLAYER_NAME, 'must be 1 to 100 characters without control characters')
    .meta({ examples: ['Frank'] }),
  email: z
    .string()
    .max(MAX_MAIL_ADDRESS_BYTES)
    .refine(isMailAddress, 'must be one mail address')
    .meta({ format: 'email', examples: ['frank@example.com'] }),
};

export const playerBody = z
  .strictObject({
    ...profile,
    funds: coins(0)
      .optional()
      .meta({ description: 'Counts only when the player is created. Default 0.', examples: [43] }),
  })
  .meta({ id: 'PlayerBody', examples: [{ name: 'Frank', email: 'frank@example.com', funds: 43 }] });

export const playerSchema = z
  .object({ id: id('frank'), ...profile, funds: coins(0) })
  .meta({ id: 'Player', description: 'A player and their funds.' });

export const itemSchema = z.object({ id: id('sword-1'), ownerId: id('frank') }).meta({ id: 'Item' });

const strategy = z.enum(STRATEGIES).default('script').meta({
  description:
    'how the change is made: by one script, or by reading and writing under the lock of the listing',
});

export const listingBody = z
  .strictObject({
    sellerId: id('frank'),
    itemId: id('sword-1'),
    price: coins(1),
    opensAt: instant
      .min(1)
      .refine((at) => at <= Date.now() + MAX_TERM_MS, 'must be within a year')
      .optional()
      .meta({
        description:
          'The item is for sale from this instant on, ms since the epoch. Until then it is in no list.',
      }),
    expiresInMs: z.int().min(MIN_TERM_MS).max(MAX_TERM_MS).optional().meta({
      description:
        'How long the item is for sale after the listing opens. Then the seller gets the item back, and a mail.',
    }),
    strategy,
  })
  .meta({ id: 'ListingBody', examples: [{ sellerId: 'frank', itemId: 'sword-1', price: 97 }] });

const saleId = id('019e4b5a-3f6e-7c4a-9d51-6a4f0c2b7e10');

export const listingSchema = z
  .object({
    id: saleId,
    itemId: id('sword-1'),
    sellerId: id('frank'),
    price: coins(1),
    listedAt: instant,
    opensAt: instant.optional(),
    expiresAt: instant.optional(),
  })
  .meta({ id: 'Listing', description: 'An item that is for sale.' });

export const purchaseBody = z
  .strictObject({
    buyerId: id('bill'),
    expectedPrice: coins(1),
    strategy,
  })
  .meta({ id: 'PurchaseBody', examples: [{ buyerId: 'bill', expectedPrice: 97 }] });

export const receiptSchema = z
  .object({
    id: saleId,
    listingId: id('019e4b5a-0c11-7a2f-8d0e-1f2e3d4c5b6a'),
    itemId: id('sword-1'),
    sellerId: id('frank'),
    buyerId: id('bill'),
    price: coins(1),
    soldAt: instant,
    taskId: saleId.meta({ description: 'The task that mails the seller: /v1/tasks/{id}.' }),
  })
  .meta({ id: 'Receipt', description: 'A sale.' });

const count = z.int().min(0);

export const figuresSchema = z
  .object({
    listings: count.meta({ description: 'items for sale' }),
    sales: count.meta({ description: 'sales whose receipts are kept' }),
    outbox: count.meta({ description: 'sales whose mail is not enqueued yet' }),
    salesPerSecond: z.number().min(0).meta({
      description: 'sales per second in the last minute, or of the newest 100 sales if these are younger',
    }),
    purchases: z
      .object({
        since: instant,
        sold: count,
        conflicts: count.meta({
          description: 'purchases that failed since another purchase or change came first',
        }),
        refused: count.meta({ description: 'purchases refused for another reason, such as missing funds' }),
      })
      .meta({ description: 'requests to this process since its start' }),
  })
  .meta({ id: 'MarketFigures' });

export const resetBody = z
  .strictObject({ playerId: id('frank') })
  .meta({ id: 'PasswordResetBody', examples: [{ playerId: 'frank' }] });

export const resetSchema = z
  .object({ taskId: saleId.meta({ description: 'The task of the mail: /v1/tasks/{id}.' }) })
  .meta({ id: 'PasswordReset' });

export const itemsQuery = z.strictObject({ cursor, limit });
export const listingsQuery = z.strictObject({
  sort: z.enum(['newest', 'price']).default('newest'),
  cursor,
  limit,
});
export const withdrawalQuery = z.strictObject({ sellerId: idSchema, strategy });

export const itemsPage = z.object({ items: z.array(itemSchema), nextCursor }).meta({ id: 'ItemPage' });
export const listingsPage = z
  .object({ items: z.array(listingSchema), nextCursor })
  .meta({ id: 'ListingPage' });
