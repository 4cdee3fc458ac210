/**
 * The whole market is one entity, hence one slot, because one purchase changes two players, an item and a listing.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `players` | HASH playerId → JSON of name and address | putPlayer | never; at most `maxPlayers` fields |
 * | `funds` | HASH playerId → coins | putPlayer (at creation), purchase | never; the same fields as `players` |
 * | `owners` | HASH itemId → playerId | giveItem, withdraw, purchase | field: when listed; with `listed` at most `maxItems` fields |
 * | `inventory` | ZSET, all scores 0, of `playerId itemId` | as `owners` | as `owners` |
 * | `listed` | HASH itemId → listingId | list | field: when withdrawn, sold or expired |
 * | `listings` | HASH listingId → `itemId sellerId price listedAt`, or that and ` opensAt expiresInMs` | list | field: when withdrawn, sold or expired |
 * | `newest` | ZSET, all scores 0, of `listedAt listingId` | list, open | member: as its listing |
 * | `prices` | ZSET, all scores 0, of `price listingId` | list, open | member: as its listing |
 * | `timers` | ZSET, all scores 0, of `listedAt listingId` | list | member: when its tasks are enqueued |
 * | `expired` | HASH `listedAt listingId` → listing | expire | field: when the mail to its seller is enqueued |
 * | `sales` | HASH saleId → `listingId itemId sellerId buyerId price soldAt requestKey` | purchase | field: when `maxSales` newer ones exist |
 * | `saleOrder` | LIST of saleIds, oldest first | purchase | with its sale |
 * | `sold` | HASH listingId → saleId | purchase | with its sale |
 * | `requests` | HASH requestKey → saleId | purchase | with its sale |
 * | `outbox` | ZSET soldAt → saleId | purchase | member: when its mail is enqueued; a sale in it is never dropped |
 * | `events` | STREAM of `listed`, `sold`, `withdrawn` or `expired` → `listingId listing` | a reader of events; all trades while it is there | a day after its last read; about 10,000 events |
 * | `updates` | channel of the readers of `events` | as `events` | holds nothing |
 * | `withdrawn:<listingId>` | STRING `sellerId withdrawalId` of its last withdrawal | withdraw | an hour after it |
 * | `fence:<listingId>` | STRING last fencing token that wrote the listing | trades by lock | a day after that write |
 *
 * A trade by lock holds the mutex `market:listing:<listingId>`; the keys of a mutex stand in @mortise/locks.
 *
 * Ids contain no space (see `ids.ts`), so a space joins fields. The sorted sets are ordered by their bytes, so numbers have
 * 13 digits. A page begins after the last member of the previous page, whether that member still exists or not.
 */
import { KeySpace } from '@mortise/redis';

const PARTS = [
  'players',
  'funds',
  'owners',
  'inventory',
  'listed',
  'listings',
  'newest',
  'prices',
  'timers',
  'expired',
  'sales',
  'saleOrder',
  'sold',
  'requests',
  'outbox',
  'events',
  'updates',
] as const;

export type MarketKeys = Readonly<Record<(typeof PARTS)[number], string>> & {
  readonly withdrawnOf: (listingId: string) => string;
  readonly fenceOf: (listingId: string) => string;
};

export function marketKeys(prefix: string | undefined): MarketKeys {
  const entity = new KeySpace('market', prefix).entity('main');
  const fixed = Object.fromEntries(PARTS.map((part) => [part, entity.key(part)]));
  return {
    ...fixed,
    withdrawnOf: (listingId: string) => entity.key('withdrawn', listingId),
    fenceOf: (listingId: string) => entity.key('fence', listingId),
  } as MarketKeys;
}
