#!lua flags=allow-oom
-- Removes all keys of a shard, unless it is in use. Large keys are freed by another thread of the server, so the call is short.
-- Wakes idle workers, which register again.
--
-- KEYS
--   active       ZSET u32 token · id -> end of the lease, ms
--   idle         ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   others...    all other keys
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   mode         look: remove nothing; refuse: remove all unless the shard is in use; force: remove all
-- RETURNS
--   { removed, active, workers }: number of removed keys; number of active tasks and of idle workers before
local active, idle = KEYS[1], KEYS[2]
local others = { unpack(KEYS, 3) }
local publish, mode = ARGV[1], ARGV[2]
local MOST_WOKEN = '999'

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local running = redis.call('ZCARD', active)
local workers = redis.call('ZCOUNT', idle, string.format('(%.0f', now), '+inf')
local removed = 0
if mode == 'force' or mode == 'refuse' and running + workers == 0 then
  for _, member in ipairs(redis.call('ZRANGE', idle, '0', MOST_WOKEN)) do
    redis.call(publish, string.match(member, '^%S+ %S+ (.*)$'), 'w:')
  end
  removed = redis.call('UNLINK', active, idle, unpack(others))
end
return { removed, running, workers }
