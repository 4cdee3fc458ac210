#!lua flags=allow-oom
-- Reads a schedule and the server's time, from which the caller finds the next instant. It writes nothing, but has no such
-- flag, since a replica would answer with its own clock and an old schedule.
--
-- KEYS
--   schedules    HASH key -> head of 32 bytes, see src/schedule/definition.ts, then the definition
-- ARGV
--   key          of the schedule
-- RETURNS
--   { now in ms, stored or nil }
local schedules = KEYS[1]
local key = ARGV[1]

-- include server.time.part.lua
return { time[1] * 1000 + math.floor(time[2] / 1000), redis.call('HGET', schedules, key) }
