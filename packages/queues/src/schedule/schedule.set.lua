#!lua
-- Stores or replaces a schedule, if the stored one is still the one that the caller has read. Wakes the timekeeper of the
-- queue when the schedule is due before everything else.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   schedules         HASH key -> head of 32 bytes: f64 due at (ms), f64 last fired for (ms), f64 runs, f64 defined at (µs);
--                     then the definition
--   dueSchedules      ZSET key -> time of its next check by a worker, ms
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   timekeeper        STRING "<next due, ms> <member of idle>"
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   most              maximum number of schedules
--   key               of the schedule
--   seen              the head that the caller has read; empty: there was no schedule
--   dueAt             ms; 0: it has ended
--   lastAt            ms
--   runs              count
--   keepEndedMs       retention of an ended schedule, ms
--   definition        bytes
-- RETURNS
--   1 stored; 0 another schedule is stored; -1 there are too many
--   error SETTINGS <stored>: other settings are stored; ;: none, the queue was removed. Nothing is written
local settings, schedules, dueSchedules = KEYS[1], KEYS[2], KEYS[3]
local idle, timekeeper = KEYS[4], KEYS[5]
local expectedSettings, publish, most, key, seen = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local dueAt, lastAt, runs = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local keepEndedMs, definition = tonumber(ARGV[9]), ARGV[10]

-- include shard.settings.part.lua
local before = redis.call('HGET', schedules, key)
if string.sub(before or '', 1, 32) ~= seen then
  return 0
end
if not before and redis.call('HLEN', schedules) >= most then
  return -1
end

-- include task.wake.part.lua
-- include shard.time.part.lua
if not stored then
  -- The caller has seen settings. The queue was removed.
  return redis.error_reply('SETTINGS ;')
end
local head = struct.pack('>dddd', dueAt, lastAt, runs, time[1] * 1000000 + time[2])
redis.call('HSET', schedules, key, head .. definition)
redis.call('ZADD', dueSchedules, dueAt > 0 and dueAt or now + keepEndedMs, key)
if dueAt > 0 then
  callAt(dueAt)
end
return 1
