#!lua flags=allow-oom
-- Says up to which offset the lines of a file are counted in a day. If a checkpoint of it has segments that wait, adds one of them.
--
-- KEYS
--   files        HASH file -> offset
--   pending      LIST of segments; until the last one is added
--   country      ZSET member -> lines
--   region       ZSET member -> lines
--   city         ZSET member -> lines
-- ARGV
--   file
--   keepMs  ms until the aggregates of the day go away
-- RETURNS
--   {offset or nil, how many segments still wait}
local files, pending, country, region, city = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local file = ARGV[1]
local keepMs = ARGV[2]

-- include daily.add.part.lua

local segment = redis.call('LPOP', pending)
if segment then
  add(segment)
  for _, key in ipairs({ country, region, city }) do redis.call('PEXPIRE', key, keepMs) end
end
return { redis.call('HGET', files, file), redis.call('LLEN', pending) }
