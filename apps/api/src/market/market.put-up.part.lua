-- Creates a listing of an item; the including script has checked that it may. Expects the locals owners, inventory, listed,
-- listings, newest, prices and timers, and market.listing.part.lua and market.announce.part.lua before it.
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local listedAt = string.format('%013.0f', now)

-- A listing that opens later is in no index until then. A listing that opens or expires stays in timers until its tasks are
-- enqueued.
local function putUp(listingId, sellerId, itemId, price, opensAt, expiresInMs)
  local listing = table.concat({ itemId, sellerId, price, listedAt }, ' ')
  if opensAt ~= '0' or expiresInMs ~= '0' then
    listing = table.concat({ listing, opensAt, expiresInMs }, ' ')
    redis.call('ZADD', timers, 0, listedAt .. ' ' .. listingId)
  end
  redis.call('HDEL', owners, itemId)
  redis.call('ZREM', inventory, sellerId .. ' ' .. itemId)
  redis.call('HSET', listed, itemId, listingId)
  redis.call('HSET', listings, listingId, listing)
  if tonumber(opensAt) <= now then
    local newestMember, pricesMember = membersOf(listingId, listing)
    redis.call('ZADD', newest, 0, newestMember)
    redis.call('ZADD', prices, 0, pricesMember)
    announce('listed', listingId, listing)
  end
  return listing
end
