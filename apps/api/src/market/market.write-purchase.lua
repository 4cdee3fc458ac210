#!lua
-- Writes a purchase that was decided under the lock of the listing. The lock excludes other holders during its lease only,
-- so a token below the last one that wrote is refused. It excludes neither trades by script nor purchases of other listings
-- with the same funds, so the data of the decision is checked again.
--
-- KEYS
--   fence        STRING the last fencing token that wrote this listing; fenceMs from then
--   funds        HASH playerId -> coins; for good
--   owners       HASH itemId -> playerId; until listed
--   inventory    ZSET of 'playerId itemId'; as owners
--   listed       HASH itemId -> listingId; until withdrawn or sold
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,
--                sold or expired
--   newest       ZSET of 'listedAt listingId', from when it opens; as listings
--   prices       ZSET of 'price listingId', from when it opens; as listings
--   sales        HASH saleId -> 'listingId itemId sellerId buyerId price soldAt requestKey'; the newest maxSales
--   saleOrder    LIST of saleIds, oldest first; as sales
--   sold         HASH listingId -> saleId; as sales
--   requests     HASH requestKey -> saleId; as sales
--   outbox       ZSET soldAt -> saleId; until the mail is enqueued
--   events       STREAM of what happened -> 'listingId listing', about 10,000; a day after its last read
--   updates      channel of the readers of events; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   token        of the lease under which the listing was read
--   fenceMs      ms
--   maxCoins     the most that a player may have
--   maxSales
--   saleId
--   listingId
--   listing      as it was read
--   buyerId
--   requestKey   '': none
-- RETURNS
--   {'sold', saleId, sale}, {'repeated', saleId, sale} when the reply of the first call was lost, {'stale-token', the
--   last token}, or {'changed'}: to be read and decided again
local fence = KEYS[1]
local funds = KEYS[2]
local owners = KEYS[3]
local inventory = KEYS[4]
local listed = KEYS[5]
local listings = KEYS[6]
local newest = KEYS[7]
local prices = KEYS[8]
local sales = KEYS[9]
local saleOrder = KEYS[10]
local sold = KEYS[11]
local requests = KEYS[12]
local outbox = KEYS[13]
local events = KEYS[14]
local updates = KEYS[15]
local publish = ARGV[1]
local token = ARGV[2]
local fenceMs = ARGV[3]
local maxCoins = tonumber(ARGV[4])
local maxSales = tonumber(ARGV[5])
local saleId = ARGV[6]
local listingId = ARGV[7]
local listing = ARGV[8]
local buyerId = ARGV[9]
local requestKey = ARGV[10]

-- include market.listing.part.lua
-- include market.announce.part.lua
-- include market.sell.part.lua

local earlier = redis.call('HGET', sales, saleId)
if earlier then
  return { 'repeated', saleId, earlier }
end
local last = redis.call('GET', fence)
if last and tonumber(last) > tonumber(token) then
  return { 'stale-token', last }
end
local _, sellerId, price, _, _, expiresAt = readListing(listing)
local oldest = oldestSales()
if
  redis.call('HGET', listings, listingId) ~= listing
  or requestKey ~= '' and redis.call('HEXISTS', requests, requestKey) == 1
  or tonumber(redis.call('HGET', funds, buyerId)) < tonumber(price)
  or redis.call('HGET', funds, sellerId) + price > maxCoins
  or now >= expiresAt
  or isMailPending(oldest[1])
then
  return { 'changed' }
end
redis.call('SET', fence, token, 'PX', fenceMs)
return { 'sold', saleId, sell(saleId, listingId, listing, buyerId, requestKey, oldest) }
