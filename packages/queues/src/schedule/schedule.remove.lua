#!lua flags=allow-oom
-- Removes a schedule. Tasks that it has made stay.
--
-- KEYS
--   schedules     HASH key -> schedule
--   dueSchedules  ZSET key -> instant at which a worker looks at it, ms
-- ARGV
--   key           of the schedule
-- RETURNS
--   1 removed, 0 there was none
local schedules, dueSchedules = KEYS[1], KEYS[2]
local key = ARGV[1]

redis.call('ZREM', dueSchedules, key)
return redis.call('HDEL', schedules, key)
