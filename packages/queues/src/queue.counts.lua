#!lua flags=no-writes
-- How many tasks are in each state. A delayed or retrying task that has fallen due counts as ready.
--
-- KEYS
--   priorities   STRING names, comma-separated
--   active       ZSET id -> end of the lease, ms
--   succeeded    LIST ids
--   dead         ZSET id -> instant of death, ms
--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   names        the priorities that the caller knows, comma-separated
-- RETURNS
--   { scheduled, ready, active, retrying, succeeded, dead }
--   error PRIORITIES <stored>: the queue has other priorities
local priorities, active, succeeded, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local names = ARGV[1]

local stored = redis.call('GET', priorities)
if stored and stored ~= names then
  return redis.error_reply('PRIORITIES ' .. stored)
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local scheduled, ready, retrying = 0, 0, 0
for lane = 5, #KEYS, 3 do
  local dueScheduled = redis.call('ZCOUNT', KEYS[lane + 1], '-inf', now)
  local dueRetrying = redis.call('ZCOUNT', KEYS[lane + 2], '-inf', now)
  ready = ready + redis.call('LLEN', KEYS[lane]) + dueScheduled + dueRetrying
  scheduled = scheduled + redis.call('ZCARD', KEYS[lane + 1]) - dueScheduled
  retrying = retrying + redis.call('ZCARD', KEYS[lane + 2]) - dueRetrying
end
return {
  scheduled,
  ready,
  redis.call('ZCARD', active),
  retrying,
  redis.call('LLEN', succeeded),
  redis.call('ZCARD', dead),
}
