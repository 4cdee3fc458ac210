-- Reads the fields of listings.

-- Returns itemId, sellerId, price and listedAt as text; opensAt and expiresAt as numbers, 0 and math.huge for none.
local function readListing(listing)
  local itemId, sellerId, price, listedAt, opens, term =
    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')
  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0
  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge
  return itemId, sellerId, price, listedAt, opensAt, expiresAt
end

-- Returns the members of an open listing in newest and prices.
local function membersOf(listingId, listing)
  local _, _, price, listedAt, opensAt = readListing(listing)
  local shownAt = math.max(tonumber(listedAt), opensAt)
  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId
end
