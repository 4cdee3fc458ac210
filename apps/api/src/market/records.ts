/** The values of the hashes and the members of the indexes: fields joined by one space, in the order of `keys.ts`. */
import type { Listing, Receipt } from './types.js';

export function readListing(id: string, record: string): Listing {
  const [itemId, sellerId, price, listedAt] = record.split(' ') as [string, string, string, string];
  return { id, itemId, sellerId, price: Number(price), listedAt: Number(listedAt) };
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

/** The id that an index member ends in. */
export function idOf(member: string): string {
  return member.slice(member.indexOf(' ') + 1);
}
