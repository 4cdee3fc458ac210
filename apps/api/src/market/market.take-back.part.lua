-- Gives the item of a listing back to its seller, for scripts that have checked that it may be. It expects the locals owners,
-- inventory, listed, listings, newest and prices.
local function takeBack(listingId, listing)
  local itemId, sellerId, price, listedAt = string.match(listing, '^(%S+) (%S+) (%S+) (%S+)$')
  redis.call('HDEL', listings, listingId)
  redis.call('HDEL', listed, itemId)
  redis.call('ZREM', newest, listedAt .. ' ' .. listingId)
  redis.call('ZREM', prices, string.format('%013.0f', price) .. ' ' .. listingId)
  redis.call('HSET', owners, itemId, sellerId)
  redis.call('ZADD', inventory, 0, sellerId .. ' ' .. itemId)
end
