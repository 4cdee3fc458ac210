#!lua flags=allow-oom
-- Removes a schedule. Its tasks stay.
--
-- KEYS
--   schedules     HASH key -> schedule
--   dueSchedules  ZSET key -> time of its next check by a worker, ms
-- ARGV
--   key           of the schedule
-- RETURNS
--   1 removed, 0 there was none
local schedules, dueSchedules = KEYS[1], KEYS[2]
local key = ARGV[1]

redis.call('ZREM', dueSchedules, key)
return redis.call('HDEL', schedules, key)
