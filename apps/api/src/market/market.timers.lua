#!lua flags=no-writes
-- Reads listings whose tasks are not enqueued yet, the oldest first.
--
-- KEYS
--   timers       ZSET of 'listedAt listingId'
--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'
-- ARGV
--   limit
-- RETURNS
--   {members, their listings}; nil for one that is gone
local timers = KEYS[1]
local listings = KEYS[2]
local limit = tonumber(ARGV[1])

local members = redis.call('ZRANGE', timers, 0, limit - 1)
local found = {}
for i, member in ipairs(members) do
  found[i] = redis.call('HGET', listings, string.sub(member, 15))
end
return { members, found }
