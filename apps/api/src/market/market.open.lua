#!lua
-- Puts a listing that is due into the indexes. Repeating it changes nothing.
--
-- KEYS
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,
--                sold or expired
--   newest       ZSET of 'listedAt listingId', from when it opens; as listings
--   prices       ZSET of 'price listingId', from when it opens; as listings
-- ARGV
--   listingId
--   listedAt     13 digits: under the same id there may be another listing by now
-- RETURNS
--   {'opened'}, {'gone'}, or {'early', ms until it opens}
local listings = KEYS[1]
local newest = KEYS[2]
local prices = KEYS[3]
local listingId = ARGV[1]
local listedAt = ARGV[2]

-- include market.listing.part.lua

local listing = redis.call('HGET', listings, listingId)
if not listing then
  return { 'gone' }
end
local _, _, _, itsListedAt, opensAt = readListing(listing)
if itsListedAt ~= listedAt then
  return { 'gone' }
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < opensAt then
  return { 'early', string.format('%.0f', opensAt - now) }
end
local newestMember, pricesMember = membersOf(listingId, listing)
redis.call('ZADD', newest, 0, newestMember)
redis.call('ZADD', prices, 0, pricesMember)
return { 'opened' }
