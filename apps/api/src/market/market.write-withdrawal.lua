#!lua
-- Writes a withdrawal that was decided under the lock of the listing; see market.write-purchase.lua.
--
-- KEYS
--   fence        STRING the last fencing token that wrote this listing; fenceMs from then
--   owners       HASH itemId -> playerId; until listed
--   inventory    ZSET of 'playerId itemId'; as owners
--   listed       HASH itemId -> listingId; until withdrawn or sold
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,
--                sold or expired
--   newest       ZSET of 'listedAt listingId', from when it opens; as listings
--   prices       ZSET of 'price listingId', from when it opens; as listings
--   withdrawn    STRING 'sellerId withdrawalId' of the last withdrawal of this listing; keepMs
--   events       STREAM of what happened -> 'listingId listing', about 10,000; a day after its last read
--   updates      channel of the readers of events; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   token        of the lease under which the listing was read
--   fenceMs      ms
--   listingId
--   listing      as it was read
--   playerId     its seller
--   withdrawalId  of this call
--   keepMs       how long a repeated withdrawal is recognised
-- RETURNS
--   {'withdrawn'}, {'stale-token', the last token}, or {'changed'}: to be read and decided again
local fence = KEYS[1]
local owners = KEYS[2]
local inventory = KEYS[3]
local listed = KEYS[4]
local listings = KEYS[5]
local newest = KEYS[6]
local prices = KEYS[7]
local withdrawn = KEYS[8]
local events = KEYS[9]
local updates = KEYS[10]
local publish = ARGV[1]
local token = ARGV[2]
local fenceMs = ARGV[3]
local listingId = ARGV[4]
local listing = ARGV[5]
local playerId = ARGV[6]
local withdrawalId = ARGV[7]
local keepMs = ARGV[8]

-- include market.listing.part.lua
-- include market.announce.part.lua
-- include market.take-back.part.lua

if redis.call('GET', withdrawn) == playerId .. ' ' .. withdrawalId then
  return { 'withdrawn' } -- The reply of the first call was lost.
end
local last = redis.call('GET', fence)
if last and tonumber(last) > tonumber(token) then
  return { 'stale-token', last }
end
if redis.call('HGET', listings, listingId) ~= listing then
  return { 'changed' }
end
redis.call('SET', fence, token, 'PX', fenceMs)
takeBack('withdrawn', listingId, listing)
redis.call('SET', withdrawn, playerId .. ' ' .. withdrawalId, 'PX', keepMs)
return { 'withdrawn' }
