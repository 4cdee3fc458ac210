#!lua flags=allow-oom
-- Removes entries, and the leases of loads that are under way: what those bring is not stored.
--
-- KEYS
--   changes     STRING, the number of the latest announcement; until a day after it
--   heard       channel of near tiers; not a key
--   entries...  for each entry two: its value (STRING, until it expires) and its lease (STRING, until leaseMs)
-- ARGV
--   publish     PUBLISH or SPUBLISH
--   announces   1 if near tiers are told of changes by message
-- RETURNS
--   for each entry 1 if it had a value, else 0
local changes, heard = KEYS[1], KEYS[2]
local publish, announces = ARGV[1], ARGV[2]

-- include cache.announce.part.lua
-- include cache.wake.part.lua

local replies, changed = {}, {}
for index = 3, #KEYS, 2 do
  local value, lease = KEYS[index], KEYS[index + 1]
  local held = redis.call('GET', lease)
  replies[#replies + 1] = redis.call('UNLINK', value)
  changed[#changed + 1] = value
  if held then
    wake(value, lease, held)
  end
end
announce(changed)
return replies
