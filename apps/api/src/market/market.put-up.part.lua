-- Makes a listing of an item, for scripts that have checked that it may be made. It expects the locals owners, inventory,
-- listed, listings, newest and prices.
local time = redis.call('TIME')
local listedAt = string.format('%013.0f', time[1] * 1000 + math.floor(time[2] / 1000))

local function putUp(listingId, sellerId, itemId, price)
  local listing = table.concat({ itemId, sellerId, price, listedAt }, ' ')
  redis.call('HDEL', owners, itemId)
  redis.call('ZREM', inventory, sellerId .. ' ' .. itemId)
  redis.call('HSET', listed, itemId, listingId)
  redis.call('HSET', listings, listingId, listing)
  redis.call('ZADD', newest, 0, listedAt .. ' ' .. listingId)
  redis.call('ZADD', prices, 0, string.format('%013.0f', price) .. ' ' .. listingId)
  return listing
end
