#!lua flags=no-writes
-- A row and where it stands in the schedule.
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   value     STRING, the value of the row; until it expires
-- ARGV
--   id        of the row
-- RETURNS
--   now (ms); its value, its state, when it is due (or the end of its lease) and its failures, each false if it has none
local due, rows, failures, value = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

local time = redis.call('TIME')
return {
  string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)),
  redis.call('GET', value),
  redis.call('HGET', rows, id),
  redis.call('ZSCORE', due, id),
  redis.call('HGET', failures, id),
}
