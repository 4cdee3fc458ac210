#!lua flags=allow-oom
-- Changes the settings of a shard, if they still are what the caller believes, and wakes all parked workers, who may have
-- something to take now.
--
-- KEYS
--   settings     STRING
--   idle         ZSET channel of a parked worker -> parked until, ms
-- ARGV
--   believed     the settings that the caller believes to be stored
--   wanted       what shall be stored
--   publish      PUBLISH or SPUBLISH
-- RETURNS
--   1
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, idle = KEYS[1], KEYS[2]
local believed, wanted, publish = ARGV[1], ARGV[2], ARGV[3]

local stored = redis.call('GET', settings)
if stored and stored ~= believed then
  return redis.error_reply('SETTINGS ' .. stored)
end
if stored ~= wanted then
  redis.call('SET', settings, wanted)
  for _, channel in ipairs(redis.call('ZRANGE', idle, 0, 999)) do
    redis.call(publish, channel, 'w:')
  end
end
return 1
