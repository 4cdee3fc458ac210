#!lua flags=allow-oom
-- Registers a running worker, or removes one that has stopped, and counts the running ones.
--
-- KEYS
--   workers      ZSET id of a worker -> until when it counts, ms; expires with the last of them
-- ARGV
--   worker       its id; empty: none
--   liveMs       how long it counts; 0: it has stopped
-- RETURNS
--   the number of workers
local workers = KEYS[1]
local worker, liveMs = ARGV[1], tonumber(ARGV[2])

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if liveMs > 0 then
  redis.call('ZADD', workers, string.format('%.0f', now + liveMs), worker)
  redis.call('ZREMRANGEBYSCORE', workers, '-inf', string.format('%.0f', now))
  redis.call('PEXPIRE', workers, string.format('%.0f', liveMs))
elseif worker ~= '' then
  redis.call('ZREM', workers, worker)
end
return redis.call('ZCOUNT', workers, string.format('(%.0f', now), '+inf')
