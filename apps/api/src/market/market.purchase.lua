#!lua
-- Sells listings: moves the coins to the seller and the item to the buyer's inventory, removes the listing, and puts the
-- sale into the outbox until the seller's mail is enqueued. The purchases of one call run one after the other, each wholly
-- or not at all. A purchase with the id or request key of an earlier sale gets that sale and changes nothing.
--
-- KEYS
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
--   maxCoins     the most that a player may have
--   maxSales
--   orders...    saleId, listingId, buyerId, expectedPrice (coins), requestKey ('': none) of each
-- RETURNS
--   for each order {'sold' | 'repeated', saleId, sale}, {'not-open', opensAt}, {'listing-expired', expiresAt}, {'price-changed', price}, {'insufficient-funds', price, coins},
--   {'funds-overflow', sellerId}, or one of {'request-reused'}, {'unknown-listing'}, {'already-sold'},
--   {'unknown-player'}, {'own-listing'}, {'outbox-full'}
local funds = KEYS[1]
local owners = KEYS[2]
local inventory = KEYS[3]
local listed = KEYS[4]
local listings = KEYS[5]
local newest = KEYS[6]
local prices = KEYS[7]
local sales = KEYS[8]
local saleOrder = KEYS[9]
local sold = KEYS[10]
local requests = KEYS[11]
local outbox = KEYS[12]
local events = KEYS[13]
local updates = KEYS[14]
local publish = ARGV[1]
local maxCoins = tonumber(ARGV[2])
local maxSales = tonumber(ARGV[3])

-- include market.listing.part.lua
-- include market.announce.part.lua
-- include market.sell.part.lua

local function buy(saleId, listingId, buyerId, expectedPrice, requestKey)
  local earlierId = requestKey ~= '' and redis.call('HGET', requests, requestKey) or saleId
  local earlier = redis.call('HGET', sales, earlierId)
  if earlier then
    local itsListing, _, _, itsBuyer, itsPrice = string.match(earlier, SALE)
    local isSame = itsListing == listingId and itsBuyer == buyerId and itsPrice == expectedPrice
    return isSame and { 'repeated', earlierId, earlier } or { 'request-reused' }
  end
  local listing = redis.call('HGET', listings, listingId)
  if not listing then
    return { redis.call('HEXISTS', sold, listingId) == 1 and 'already-sold' or 'unknown-listing' }
  end
  local _, sellerId, price, _, opensAt, expiresAt = readListing(listing)
  local coins = redis.call('HGET', funds, buyerId)
  if not coins then
    return { 'unknown-player' }
  end
  if sellerId == buyerId then
    return { 'own-listing' }
  end
  if now < opensAt then
    return { 'not-open', string.format('%.0f', opensAt) }
  end
  if now >= expiresAt then
    return { 'listing-expired', string.format('%.0f', expiresAt) }
  end
  if price ~= expectedPrice then
    return { 'price-changed', price }
  end
  if tonumber(coins) < tonumber(price) then
    return { 'insufficient-funds', price, coins }
  end
  if redis.call('HGET', funds, sellerId) + price > maxCoins then
    return { 'funds-overflow', sellerId }
  end
  local oldest = oldestSales()
  if isMailPending(oldest[1]) then
    return { 'outbox-full' }
  end
  return { 'sold', saleId, sell(saleId, listingId, listing, buyerId, requestKey, oldest) }
end

local replies = {}
for i = 4, #ARGV, 5 do
  replies[#replies + 1] = buy(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
end
return replies
