#!lua flags=allow-oom
-- Gives tags a new version: entries with an older token read as absent, and loads under an older lease are not stored.
--
-- KEYS
--   seq          STRING, the latest token; until a day after it
--   changes      STRING, the number of the latest invalidation message; until a day after it
--   nearChannel  channel of near tiers; not a key
--   tags...      STRING, a token as the version; until no entry or lease can be older
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   announces    1 if near tiers learn of changes by message
--   keepMs       ms, longer than any lease
-- RETURNS
--   the server's time, ms
local seq, changes, nearChannel = KEYS[1], KEYS[2], KEYS[3]
local publish, announces, keepMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include cache.token.part.lua
-- include cache.announce.part.lua

local changed = {}
for index = 4, #KEYS do
  local leftMs = redis.call('PTTL', KEYS[index])
  redis.call('SET', KEYS[index], nextToken(), 'PX', math.max(keepMs, leftMs))
  changed[#changed + 1] = KEYS[index]
end
announce(changed)
return now
