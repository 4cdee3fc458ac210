#!lua flags=allow-oom
-- Leases due schedules to one worker. Only `dueSchedules` changes: the due time stays in the head until the tasks are
-- stored, so a worker that dies loses none. Also removes ended schedules after their retention.
--
-- KEYS
--   schedules     HASH key -> head of 32 bytes: f64 due at (ms; 0: ended), …; then the definition
--   dueSchedules  ZSET key -> time of its next check by a worker, ms
-- ARGV
--   leaseMs       ms
--   most          schedules to lease, 1 to 1,000
-- RETURNS
--   { now in ms, key, stored, … }
local schedules, dueSchedules = KEYS[1], KEYS[2]
local leaseMs, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local HEAD = 32
-- The schedule that exceeds this size is the last one of the reply.
local MOST_BYTES = 4194304

-- include server.time.part.lua
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
    redis.call('ZADD', dueSchedules, now + leaseMs, key)
    reply[#reply + 1] = key
    reply[#reply + 1] = stored
    bytes = bytes + #stored
  end
end
return reply
