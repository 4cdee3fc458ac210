#!lua flags=no-writes
-- Reads the data that decides a withdrawal.
--
-- KEYS
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'
--   sold         HASH listingId -> saleId
--   withdrawn    STRING 'sellerId withdrawalId' of the last withdrawal of this listing
-- ARGV
--   listingId
-- RETURNS
--   {listing, 1 if it was sold, the last withdrawal}; nil for what isn't there
local listings = KEYS[1]
local sold = KEYS[2]
local withdrawn = KEYS[3]
local listingId = ARGV[1]

return {
  redis.call('HGET', listings, listingId),
  redis.call('HEXISTS', sold, listingId),
  redis.call('GET', withdrawn),
}
