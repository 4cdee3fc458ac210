#!lua flags=no-writes
-- Reads the data that decides a purchase.
--
-- KEYS
--   funds        HASH playerId -> coins
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'
--   sales        HASH saleId -> sale
--   saleOrder    LIST of saleIds, oldest first
--   sold         HASH listingId -> saleId
--   requests     HASH requestKey -> saleId
--   outbox       ZSET soldAt -> saleId
-- ARGV
--   maxSales
--   listingId
--   buyerId
--   requestKey   '': none
-- RETURNS
--   {listing, 1 if it was sold, the buyer's coins, the seller's coins, saleId and sale that the request key led to,
--   1 if the oldest receipt has to go and its mail is not enqueued, the server's time in ms}; nil for what isn't there
local funds = KEYS[1]
local listings = KEYS[2]
local sales = KEYS[3]
local saleOrder = KEYS[4]
local sold = KEYS[5]
local requests = KEYS[6]
local outbox = KEYS[7]
local maxSales = tonumber(ARGV[1])
local listingId = ARGV[2]
local buyerId = ARGV[3]
local requestKey = ARGV[4]

local listing = redis.call('HGET', listings, listingId)
local sellerId = listing and string.match(listing, '^%S+ (%S+)')
local earlierId = requestKey ~= '' and redis.call('HGET', requests, requestKey)
-- include server.time.part.lua
local oldest = redis.call('LLEN', saleOrder) >= maxSales and redis.call('LINDEX', saleOrder, 0)
return {
  listing,
  redis.call('HEXISTS', sold, listingId),
  redis.call('HGET', funds, buyerId),
  sellerId and redis.call('HGET', funds, sellerId),
  earlierId,
  earlierId and redis.call('HGET', sales, earlierId),
  oldest and redis.call('ZSCORE', outbox, oldest) and 1 or 0,
  time[1] * 1000 + math.floor(time[2] / 1000),
}
