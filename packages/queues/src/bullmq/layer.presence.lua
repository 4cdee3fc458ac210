#!lua
-- Stores that a worker or a reader of events of the BullMQ layer is there, or that it leaves; lists those that are.
--
-- KEYS
--   layerPresent      ZSET worker or reader -> until when it is listed, ms
-- ARGV
--   member            of the sorted set, or '' to list alone
--   keepMs            how long it is listed; 0: it leaves
-- RETURNS
--   the members
local layerPresent = KEYS[1]
local member, keepMs = ARGV[1], tonumber(ARGV[2])
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if member ~= '' then
  if keepMs > 0 then
    redis.call('ZADD', layerPresent, string.format('%.0f', now + keepMs), member)
    redis.call('PEXPIRE', layerPresent, keepMs)
  else
    redis.call('ZREM', layerPresent, member)
  end
  redis.call('ZREMRANGEBYSCORE', layerPresent, '-inf', string.format('%.0f', now))
end
return redis.call('ZRANGE', layerPresent, string.format('(%.0f', now), '+inf', 'BYSCORE')
