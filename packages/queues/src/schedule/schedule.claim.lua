#!lua flags=allow-oom
-- Schedules that have fallen due, for the worker that asks first: for the time of its claim nobody else is given them. Only
-- `dueSchedules` changes; the instant for which a schedule is due stays in its head until its tasks are stored, so a worker that
-- dies meanwhile loses none. Ended schedules whose time of remembrance is over are removed.
--
-- KEYS
--   schedules     HASH key -> head of 32 bytes: f64 due at (ms; 0: ended), …; then the definition
--   dueSchedules  ZSET key -> instant at which a worker looks at it, ms
-- ARGV
--   claimMs       ms
--   most          schedules to claim, 1 to 1,000
-- RETURNS
--   { now in ms, key, stored, … }
local schedules, dueSchedules = KEYS[1], KEYS[2]
local claimMs, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local HEAD = 32
-- A reply ends with the schedule that makes it longer than this.
local MOST_BYTES = 4194304

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply, bytes = { now }, 0
for _, key in ipairs(redis.call('ZRANGE', dueSchedules, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  if bytes >= MOST_BYTES then
    break
  end
  local stored = redis.call('HGET', schedules, key)
  local dueAt = stored and #stored >= HEAD and struct.unpack('>d', stored)
  if not stored or dueAt == 0 then
    redis.call('ZREM', dueSchedules, key)
    redis.call('HDEL', schedules, key)
  else
    redis.call('ZADD', dueSchedules, now + claimMs, key)
    reply[#reply + 1] = key
    reply[#reply + 1] = stored
    bytes = bytes + #stored
  end
end
return reply
