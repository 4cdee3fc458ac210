#!lua
-- Takes a listing back: the item returns to its seller's inventory.
--
-- KEYS
--   owners       HASH itemId -> playerId; until listed
--   inventory    ZSET of 'playerId itemId'; as owners
--   listed       HASH itemId -> listingId; until withdrawn or sold
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,
--                sold or expired
--   newest       ZSET of 'listedAt listingId', from when it opens; as listings
--   prices       ZSET of 'price listingId', from when it opens; as listings
--   sold         HASH listingId -> saleId; as long as the sale is kept
-- ARGV
--   listingId
--   playerId     who asks
-- RETURNS
--   'withdrawn', 'unknown-listing', 'already-sold' or 'not-seller'
local owners = KEYS[1]
local inventory = KEYS[2]
local listed = KEYS[3]
local listings = KEYS[4]
local newest = KEYS[5]
local prices = KEYS[6]
local sold = KEYS[7]
local listingId = ARGV[1]
local playerId = ARGV[2]

-- include market.terms.part.lua
-- include market.take-back.part.lua

local listing = redis.call('HGET', listings, listingId)
if not listing then
  return redis.call('HEXISTS', sold, listingId) == 1 and 'already-sold' or 'unknown-listing'
end
if string.match(listing, '^%S+ (%S+)') ~= playerId then
  return 'not-seller'
end
takeBack(listingId, listing)
return 'withdrawn'
