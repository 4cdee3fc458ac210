#!lua
-- Puts a listing that is due into the indexes. Repeating it changes nothing.
--
-- KEYS
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,
--                sold or expired
--   newest       ZSET of 'listedAt listingId', from when it opens; as listings
--   prices       ZSET of 'price listingId', from when it opens; as listings
--   events       STREAM of what happened -> 'listingId listing', about 10,000; a day after its last read
--   updates      channel of the readers of events; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   listingId
--   listedAt     13 digits: under the same id there may be another listing by now
-- RETURNS
--   {'opened'}, {'gone'}, or {'early', ms until it opens}
local listings = KEYS[1]
local newest = KEYS[2]
local prices = KEYS[3]
local events = KEYS[4]
local updates = KEYS[5]
local publish = ARGV[1]
local listingId = ARGV[2]
local listedAt = ARGV[3]

-- include market.listing.part.lua
-- include market.announce.part.lua

local listing = redis.call('HGET', listings, listingId)
if not listing then
  return { 'gone' }
end
local _, _, _, itsListedAt, opensAt = readListing(listing)
if itsListedAt ~= listedAt then
  return { 'gone' }
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < opensAt then
  return { 'early', string.format('%.0f', opensAt - now) }
end
local newestMember, pricesMember = membersOf(listingId, listing)
local isNew = redis.call('ZADD', newest, 0, newestMember) == 1
redis.call('ZADD', prices, 0, pricesMember)
if isNew then
  announce('listed', listingId, listing)
end
return { 'opened' }
