#!lua flags=no-writes
-- Reads the most frequent members of an aggregate of a day.
--
-- KEYS
--   counts       ZSET member -> lines
--   total        STRING lines of the day
-- ARGV
--   limit        members at most
-- RETURNS
--   {lines of the day or nil, number of members, {member, lines, …}}, the most frequent first; those of equal counts by their
--   bytes, the last one first
local counts = KEYS[1]
local total = KEYS[2]
local limit = tonumber(ARGV[1])

return {
  redis.call('GET', total),
  redis.call('ZCARD', counts),
  redis.call('ZRANGE', counts, 0, limit - 1, 'REV', 'WITHSCORES'),
}
