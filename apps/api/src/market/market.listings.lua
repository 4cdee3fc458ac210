#!lua flags=no-writes
-- Reads a page of listings in the order of an index.
--
-- KEYS
--   index        ZSET of '<13 digits> listingId', all scores 0
--   listings     HASH listingId -> listing
-- ARGV
--   first        bound of ZRANGE BYLEX
--   last         bound of ZRANGE BYLEX
--   isReversed   '1': from the highest member down
--   limit
-- RETURNS
--   {members, their listings}
local index = KEYS[1]
local listings = KEYS[2]
local first = ARGV[1]
local last = ARGV[2]
local isReversed = ARGV[3]
local limit = ARGV[4]

local members
if isReversed == '1' then
  members = redis.call('ZRANGE', index, first, last, 'BYLEX', 'REV', 'LIMIT', 0, limit)
else
  members = redis.call('ZRANGE', index, first, last, 'BYLEX', 'LIMIT', 0, limit)
end
local found = {}
for i, member in ipairs(members) do
  found[i] = redis.call('HGET', listings, string.sub(member, 15))
end
return { members, found }
