#!lua flags=no-writes
-- Reads the data that decides an offer.
--
-- KEYS
--   players      HASH playerId -> profile
--   owners       HASH itemId -> playerId
--   listed       HASH itemId -> listingId
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'
--   sold         HASH listingId -> saleId
-- ARGV
--   listingId
--   sellerId
--   itemId
-- RETURNS
--   {listing, 1 if it was sold, 1 if the seller exists, the item's owner, the listing that the item is in}; nil for what
--   isn't there
local players = KEYS[1]
local owners = KEYS[2]
local listed = KEYS[3]
local listings = KEYS[4]
local sold = KEYS[5]
local listingId = ARGV[1]
local sellerId = ARGV[2]
local itemId = ARGV[3]

return {
  redis.call('HGET', listings, listingId),
  redis.call('HEXISTS', sold, listingId),
  redis.call('HEXISTS', players, sellerId),
  redis.call('HGET', owners, itemId),
  redis.call('HGET', listed, itemId),
}
