-- Writes a sale; the including script has checked that it may. Expects the locals funds, owners, inventory, listed,
-- listings, newest, prices, sales, saleOrder, sold, requests, outbox and maxSales, and market.listing.part.lua and
-- market.announce.part.lua before it.

-- Only a lowered maxSales drops more than one receipt; the bound keeps a purchase short.
local MAX_DROPS = 8
local SALE = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S*)$'

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local soldAt = string.format('%013.0f', now)

-- Returns the oldest receipts, which the next one replaces.
local function oldestSales()
  local excess = math.min(redis.call('LLEN', saleOrder) - maxSales + 1, MAX_DROPS)
  return excess > 0 and redis.call('LRANGE', saleOrder, 0, excess - 1) or {}
end

-- A receipt stays until its mail is enqueued.
local function isMailPending(saleId)
  return saleId and redis.call('ZSCORE', outbox, saleId)
end

local function drop(saleId)
  local listingId, _, _, _, _, _, requestKey = string.match(redis.call('HGET', sales, saleId), SALE)
  redis.call('LPOP', saleOrder)
  redis.call('HDEL', sales, saleId)
  redis.call('HDEL', sold, listingId)
  if requestKey ~= '' then
    redis.call('HDEL', requests, requestKey)
  end
end

local function sell(saleId, listingId, listing, buyerId, requestKey, oldest)
  local itemId, sellerId, price = readListing(listing)
  local newestMember, pricesMember = membersOf(listingId, listing)
  for _, oldId in ipairs(oldest) do
    if isMailPending(oldId) then
      break
    end
    drop(oldId)
  end
  redis.call('HINCRBY', funds, buyerId, '-' .. price)
  redis.call('HINCRBY', funds, sellerId, price)
  redis.call('HDEL', listings, listingId)
  redis.call('HDEL', listed, itemId)
  redis.call('ZREM', newest, newestMember)
  redis.call('ZREM', prices, pricesMember)
  redis.call('HSET', owners, itemId, buyerId)
  redis.call('ZADD', inventory, 0, buyerId .. ' ' .. itemId)
  local sale = table.concat({ listingId, itemId, sellerId, buyerId, price, soldAt, requestKey }, ' ')
  redis.call('HSET', sales, saleId, sale)
  redis.call('RPUSH', saleOrder, saleId)
  redis.call('HSET', sold, listingId, saleId)
  if requestKey ~= '' then
    redis.call('HSET', requests, requestKey, saleId)
  end
  redis.call('ZADD', outbox, soldAt, saleId)
  announce('sold', listingId, listing)
  return sale
end
