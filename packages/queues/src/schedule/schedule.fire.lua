#!lua flags=allow-oom
-- Stores the next instants of leased schedules after their tasks were enqueued, or postpones them. Schedules that were
-- changed, removed or run by another worker in the meantime stay as they are.
--
-- KEYS
--   schedules     HASH key -> head of 32 bytes: f64 due at (ms), f64 last fired for (ms), f64 runs, f64 defined at (µs);
--                 then the definition
--   dueSchedules  ZSET key -> time of its next check by a worker, ms
-- ARGV
--   keepEndedMs   retention of an ended schedule, ms
--   changes...    five a schedule: key; leased head; due at, ms (0: ended; below 0: check again after so many ms, the head
--                 stays); last fired for, ms; runs
-- RETURNS
--   a string with one character a schedule: 1 changed, 0 left alone
local schedules, dueSchedules = KEYS[1], KEYS[2]
local keepEndedMs = tonumber(ARGV[1])
local HEAD = 32

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local done = {}
for i = 2, #ARGV, 5 do
  local key, leased, dueAt = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local stored = redis.call('HGET', schedules, key)
  if not stored or string.sub(stored, 1, HEAD) ~= leased then
    done[#done + 1] = '0'
  else
    if dueAt < 0 then
      redis.call('ZADD', dueSchedules, now - dueAt, key)
    else
      local definedAt = string.sub(stored, 25, HEAD)
      local head = struct.pack('>ddd', dueAt, tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])) .. definedAt
      redis.call('HSET', schedules, key, head .. string.sub(stored, HEAD + 1))
      redis.call('ZADD', dueSchedules, dueAt > 0 and dueAt or now + keepEndedMs, key)
    end
    done[#done + 1] = '1'
  end
end
return table.concat(done)
