#!lua
-- Removes an expired listing, and keeps it among the expired ones until its seller's mail is enqueued. Until then a
-- repeated call returns the same listing.
--
-- KEYS
--   owners       HASH itemId -> playerId; until listed
--   inventory    ZSET of 'playerId itemId'; as owners
--   listed       HASH itemId -> listingId; until withdrawn or sold
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,
--                sold or expired
--   newest       ZSET of 'listedAt listingId', from when it opens; as listings
--   prices       ZSET of 'price listingId', from when it opens; as listings
--   expired      HASH 'listedAt listingId' -> listing; until the seller's mail is enqueued
--   events       STREAM of what happened -> 'listingId listing', about 10,000; a day after its last read
--   updates      channel of the readers of events; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   listingId
--   listedAt     13 digits: under the same id there may be another listing by now
-- RETURNS
--   {'expired', listing}, {'gone'}, or {'early', ms until it expires}
local owners = KEYS[1]
local inventory = KEYS[2]
local listed = KEYS[3]
local listings = KEYS[4]
local newest = KEYS[5]
local prices = KEYS[6]
local expired = KEYS[7]
local events = KEYS[8]
local updates = KEYS[9]
local publish = ARGV[1]
local listingId = ARGV[2]
local listedAt = ARGV[3]

-- include market.listing.part.lua
-- include market.announce.part.lua
-- include market.take-back.part.lua

local place = listedAt .. ' ' .. listingId
local listing = redis.call('HGET', listings, listingId)
local itsListedAt, expiresAt, _
if listing then
  _, _, _, itsListedAt, _, expiresAt = readListing(listing)
end
if itsListedAt ~= listedAt then
  local before = redis.call('HGET', expired, place)
  return before and { 'expired', before } or { 'gone' }
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if expiresAt == math.huge then
  return { 'gone' }
elseif now < expiresAt then
  return { 'early', string.format('%.0f', expiresAt - now) }
end
takeBack('expired', listingId, listing)
redis.call('HSET', expired, place, listing)
return { 'expired', listing }
