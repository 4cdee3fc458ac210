-- Returns the item of a listing to its seller; the including script has checked that it may. Expects the locals owners,
-- inventory, listed, listings, newest and prices, and market.listing.part.lua before it.
local function takeBack(listingId, listing)
  local itemId, sellerId = readListing(listing)
  local newestMember, pricesMember = membersOf(listingId, listing)
  redis.call('HDEL', listings, listingId)
  redis.call('HDEL', listed, itemId)
  redis.call('ZREM', newest, newestMember)
  redis.call('ZREM', prices, pricesMember)
  redis.call('HSET', owners, itemId, sellerId)
  redis.call('ZADD', inventory, 0, sellerId .. ' ' .. itemId)
end
