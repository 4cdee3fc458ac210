#!lua flags=no-writes
-- Counts the schedule of a shard.
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   source    HASH, there while the source is down; until idle
--   unloaded  STRING, the number of rows that were never loaded; until idle
-- RETURNS
--   the number of rows; of rows that are due; of rows whose last load failed; of rows never loaded; for how long the first
--   has been due (ms); failures of the source in a row
local due, failures, source, unloaded = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local overdue = redis.call('ZCOUNT', due, '-inf', string.format('%.0f', now))
return {
  redis.call('ZCARD', due),
  overdue,
  redis.call('HLEN', failures),
  tonumber(redis.call('GET', unloaded) or 0),
  overdue > 0 and math.max(0, now - tonumber(head)) or 0,
  tonumber(redis.call('HGET', source, 'failures') or 0),
}
