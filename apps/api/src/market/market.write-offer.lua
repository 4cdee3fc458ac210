#!lua
-- Writes an offer that was decided under the lock of the listing; see market.write-purchase.lua. Meanwhile the item may
-- have been offered under another id, or bought.
--
-- KEYS
--   fence        STRING the last fencing token that wrote this listing; fenceMs from then
--   owners       HASH itemId -> playerId; until listed
--   inventory    ZSET of 'playerId itemId'; as owners
--   listed       HASH itemId -> listingId; until withdrawn or sold
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,
--                sold or expired
--   newest       ZSET of 'listedAt listingId', from when it opens; as listings
--   prices       ZSET of 'price listingId', from when it opens; as listings
--   sold         HASH listingId -> saleId; as long as the sale is kept
--   timers       ZSET of 'listedAt listingId'; until its tasks are enqueued
--   events       STREAM of what happened -> 'listingId listing', about 10,000; a day after its last read
--   updates      channel of the readers of events; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   token        of the lease under which it was decided
--   fenceMs      ms
--   listingId
--   sellerId
--   itemId
--   price        coins
--   opensAt      ms; 0: at once
--   expiresInMs  0: never
-- RETURNS
--   {'listed', listing}, {'stale-token', the last token}, or {'changed'}: to be read and decided again
local fence = KEYS[1]
local owners = KEYS[2]
local inventory = KEYS[3]
local listed = KEYS[4]
local listings = KEYS[5]
local newest = KEYS[6]
local prices = KEYS[7]
local sold = KEYS[8]
local timers = KEYS[9]
local events = KEYS[10]
local updates = KEYS[11]
local publish = ARGV[1]
local token = ARGV[2]
local fenceMs = ARGV[3]
local listingId = ARGV[4]
local sellerId = ARGV[5]
local itemId = ARGV[6]
local price = ARGV[7]
local opensAt = ARGV[8]
local expiresInMs = ARGV[9]

-- include market.listing.part.lua
-- include market.announce.part.lua
-- include market.put-up.part.lua

local last = redis.call('GET', fence)
if last and tonumber(last) > tonumber(token) then
  return { 'stale-token', last }
end
if
  redis.call('HEXISTS', listings, listingId) == 1
  or redis.call('HEXISTS', sold, listingId) == 1
  or redis.call('HGET', owners, itemId) ~= sellerId
then
  return { 'changed' }
end
redis.call('SET', fence, token, 'PX', fenceMs)
return { 'listed', putUp(listingId, sellerId, itemId, price, opensAt, expiresInMs) }
