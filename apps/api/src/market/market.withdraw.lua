#!lua
-- Withdraws a listing: the item returns to its seller's inventory. The seller may repeat it, under the same or another id:
-- the listing stays withdrawn. A repeated id never takes back a later listing of the same name.
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
--   withdrawn    STRING 'sellerId withdrawalId' of the last withdrawal of this listing; keepMs
--   events       STREAM of what happened -> 'listingId listing', about 10,000; a day after its last read
--   updates      channel of the readers of events; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   listingId
--   playerId     the caller
--   withdrawalId  of this call
--   keepMs       how long a repeated withdrawal is recognised
-- RETURNS
--   'withdrawn', 'unknown-listing', 'already-sold' or 'not-seller'
local owners = KEYS[1]
local inventory = KEYS[2]
local listed = KEYS[3]
local listings = KEYS[4]
local newest = KEYS[5]
local prices = KEYS[6]
local sold = KEYS[7]
local withdrawn = KEYS[8]
local events = KEYS[9]
local updates = KEYS[10]
local publish = ARGV[1]
local listingId = ARGV[2]
local playerId = ARGV[3]
local withdrawalId = ARGV[4]
local keepMs = ARGV[5]

-- include market.listing.part.lua
-- include market.announce.part.lua
-- include market.take-back.part.lua

local last = redis.call('GET', withdrawn) or ''
if last == playerId .. ' ' .. withdrawalId then
  return 'withdrawn'
end
local listing = redis.call('HGET', listings, listingId)
if not listing then
  if redis.call('HEXISTS', sold, listingId) == 1 then
    return 'already-sold'
  end
  return string.match(last, '^%S+') == playerId and 'withdrawn' or 'unknown-listing'
end
if string.match(listing, '^%S+ (%S+)') ~= playerId then
  return 'not-seller'
end
takeBack('withdrawn', listingId, listing)
redis.call('SET', withdrawn, playerId .. ' ' .. withdrawalId, 'PX', keepMs)
return 'withdrawn'
