#!lua
-- Offers items at a price: each leaves its seller's inventory and becomes a listing. An offer equal to the listing of its
-- id is a repeated request and changes nothing.
--
-- KEYS
--   players      HASH playerId -> profile; for good
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
--   offers...    listingId, sellerId, itemId, price (coins), opensAt (ms; 0: at once), expiresInMs (0: never) of each
-- RETURNS
--   for each offer {'listed' | 'repeated', listing}, {'item-listed', listingId}, or one of {'request-reused'},
--   {'already-sold'}, {'unknown-player'}, {'unknown-item'}, {'not-owner'}
local players = KEYS[1]
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

-- include market.listing.part.lua
-- include market.announce.part.lua
-- include market.put-up.part.lua

local function offer(listingId, sellerId, itemId, price, opensAt, expiresInMs)
  local content = itemId .. ' ' .. sellerId .. ' ' .. price .. ' '
  local present = redis.call('HGET', listings, listingId)
  if present then
    local given = opensAt == '0' and expiresInMs == '0' and '' or ' ' .. opensAt .. ' ' .. expiresInMs
    local isSame = string.sub(present, 1, #content) == content
      and string.match(present, '^%S+ %S+ %S+ %S+(.*)$') == given
    return isSame and { 'repeated', present } or { 'request-reused' }
  end
  if redis.call('HEXISTS', sold, listingId) == 1 then
    return { 'already-sold' }
  end
  if redis.call('HEXISTS', players, sellerId) == 0 then
    return { 'unknown-player' }
  end
  local owner = redis.call('HGET', owners, itemId)
  if not owner then
    local other = redis.call('HGET', listed, itemId)
    return other and { 'item-listed', other } or { 'unknown-item' }
  end
  if owner ~= sellerId then
    return { 'not-owner' }
  end
  return { 'listed', putUp(listingId, sellerId, itemId, price, opensAt, expiresInMs) }
end

local replies = {}
for i = 2, #ARGV, 6 do
  replies[#replies + 1] = offer(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
end
return replies
