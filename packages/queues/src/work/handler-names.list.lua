#!lua flags=allow-oom
-- Lists the names of tasks for which live workers have handlers, and adds those of one worker.
--
-- KEYS
--   handlers     ZSET name of a task -> until when it is listed, ms; expires with the last of them
-- ARGV
--   liveMs       how long the names of the caller are listed; 0: it has none
--   names...     1,000 at most
-- RETURNS
--   the listed names, by until
local handlers = KEYS[1]
local liveMs = tonumber(ARGV[1])
local names = { unpack(ARGV, 2) }

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowText = string.format('%.0f', now)
if liveMs > 0 then
  local entries, untilText = {}, string.format('%.0f', now + liveMs)
  for i, name in ipairs(names) do
    entries[2 * i - 1], entries[2 * i] = untilText, name
  end
  redis.call('ZADD', handlers, 'GT', unpack(entries))
  redis.call('ZREMRANGEBYSCORE', handlers, '-inf', '(' .. nowText)
  redis.call('PEXPIRE', handlers, string.format('%.0f', liveMs))
end
return redis.call('ZRANGE', handlers, nowText, '+inf', 'BYSCORE')
