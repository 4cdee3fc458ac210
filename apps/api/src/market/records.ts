/** The values of the hashes and the members of the indexes: fields joined by one space, in the order of `keys.ts`. */
import type { Listing, Receipt } from './types.js';

export function readListing(id: string, record: string): Listing {
  const [itemId, sellerId, price, listedAt, opensAt = '0', expiresInMs = '0'] = record.split(' ') as [
    string,
    string,
    string,
    string,
    string?,
    string?,
  ];
  const opens = Number(opensAt);
  const term = Number(expiresInMs);
  return {
    id,
    itemId,
    sellerId,
    price: Number(price),
    listedAt: Number(listedAt),
    ...(opens > 0 && { opensAt: opens }),
    ...(term > 0 && { expiresAt: Math.max(Number(listedAt), opens) + term }),
  };
}

/** The terms of a listing that its seller chose. */
export function termsOf({ itemId, sellerId, price, listedAt, opensAt = 0, expiresAt }: Listing): string {
  const expiresInMs = expiresAt === undefined ? 0 : expiresAt - Math.max(listedAt, opensAt);
  return [itemId, sellerId, price, opensAt, expiresInMs].join(' ');
}

export function readSale(id: string, record: string): Receipt {
  const [listingId, itemId, sellerId, buyerId, price, soldAt] = record.split(' ') as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  return { id, listingId, itemId, sellerId, buyerId, price: Number(price), soldAt: Number(soldAt) };
}

/** The id at the end of an index member. */
export function idOf(member: string): string {
  return member.slice(member.indexOf(' ') + 1);
}
