/** What the routes of the market take and give; the OpenAPI document is made from the same schemas. */
import { z } from 'zod';

import { MAX_CURSOR_LENGTH } from './cursor.js';
import { ID } from './ids.js';
import { MAX_MAIL_ADDRESS_BYTES, isMailAddress } from './mail-address.js';
import { DEFAULT_PAGE, MAX_COINS, MAX_PAGE } from './options.js';
import { PLAYER_NAME } from './profile.js';

export const idSchema = z.string().regex(ID, 'must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : -');
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
      .meta({ description: 'Counts when the player is created; default 0.', examples: [43] }),
  })
  .meta({ id: 'PlayerBody', examples: [{ name: 'Frank', email: 'frank@example.com', funds: 43 }] });

export const playerSchema = z
  .object({ id: id('frank'), ...profile, funds: coins(0) })
  .meta({ id: 'Player', description: 'A player and what they have to spend.' });

export const itemSchema = z.object({ id: id('sword-1'), ownerId: id('frank') }).meta({ id: 'Item' });

export const listingBody = z
  .strictObject({ sellerId: id('frank'), itemId: id('sword-1'), price: coins(1) })
  .meta({ id: 'ListingBody', examples: [{ sellerId: 'frank', itemId: 'sword-1', price: 97 }] });

const saleId = id('019e4b5a-3f6e-7c4a-9d51-6a4f0c2b7e10');

export const listingSchema = z
  .object({ id: saleId, itemId: id('sword-1'), sellerId: id('frank'), price: coins(1), listedAt: instant })
  .meta({ id: 'Listing', description: 'An item that is for sale.' });

export const purchaseBody = z
  .strictObject({ buyerId: id('bill'), expectedPrice: coins(1) })
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

const cursor = z
  .string()
  .min(1)
  .max(MAX_CURSOR_LENGTH)
  .optional()
  .meta({ description: 'nextCursor of the page before' });
const limit = z
  .preprocess(
    // Number and z.coerce would also take 1e1, 0x10 and spaces.
    (text) => (typeof text === 'string' && /^[0-9]+$/.test(text) ? Number(text) : text),
    z.int('must be a whole number in decimal digits').min(1).max(MAX_PAGE),
  )
  .default(DEFAULT_PAGE)
  // zod leaves the default of what it preprocesses out of the JSON schema.
  .meta({ description: `default ${DEFAULT_PAGE}` });

export const itemsQuery = z.strictObject({ cursor, limit });
export const listingsQuery = z.strictObject({
  sort: z.enum(['newest', 'price']).default('newest'),
  cursor,
  limit,
});
export const withdrawalQuery = z.strictObject({ sellerId: idSchema });

const nextCursor = z.string().nullable().meta({ description: 'null: this is the last page' });
export const itemsPage = z.object({ items: z.array(itemSchema), nextCursor }).meta({ id: 'ItemPage' });
export const listingsPage = z
  .object({ items: z.array(listingSchema), nextCursor })
  .meta({ id: 'ListingPage' });
