-- Returns the item of a listing to its seller; the including script has checked that it may. Expects the locals owners,
-- inventory, listed, listings, newest and prices, and market.listing.part.lua and market.announce.part.lua before it.
local function takeBack(what, listingId, listing)
  local itemId, sellerId = readListing(listing)
  local newestMember, pricesMember = membersOf(listingId, listing)
  redis.call('HDEL', listings, listingId)
  redis.call('HDEL', listed, itemId)
  local wasShown = redis.call('ZREM', newest, newestMember) == 1
  redis.call('ZREM', prices, pricesMember)
  redis.call('HSET', owners, itemId, sellerId)
  redis.call('ZADD', inventory, 0, sellerId .. ' ' .. itemId)
  if wasShown then
    announce(what, listingId, listing)
  end
end
