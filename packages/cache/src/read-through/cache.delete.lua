#!lua flags=allow-oom
-- Removes entries, and the leases of loads under way, so that their values are not stored.
--
-- KEYS
--   changes      STRING, the number of the latest invalidation message; until a day after it
--   nearChannel  channel of near tiers; not a key
--   entries...   for each entry two: its value (STRING, until it expires) and its lease (STRING, until leaseMs)
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   announces    1 if near tiers learn of changes by message
-- RETURNS
--   for each entry 1 if it had a value, else 0
local changes, nearChannel = KEYS[1], KEYS[2]
local publish, announces = ARGV[1], ARGV[2]

-- include cache.announce.part.lua
-- include cache.end-lease.part.lua

local replies, changed = {}, {}
for index = 3, #KEYS, 2 do
  local value, lease = KEYS[index], KEYS[index + 1]
  local current = redis.call('GET', lease)
  replies[#replies + 1] = redis.call('UNLINK', value)
  changed[#changed + 1] = value
  if current then
    endLease(value, lease, current)
  end
end
announce(changed)
return replies
