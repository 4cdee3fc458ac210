#!lua flags=no-writes
-- A row and its place in the schedule.
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs     ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed    HASH pack -> when its rows were loaded (13 digits), ...; until idle
--   failed    ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   errors    HASH row id -> the text of its last failure, while `failures` has it; until idle
--   value     STRING, the value of the row; until it expires
-- ARGV
--   id        of the row
-- RETURNS
--   now (ms); its value, its state, when it is due (or the end of its lease), its failures and the text
--   of the last one, each false if there is none
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failed, failures, errors, value = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local id = ARGV[1]

local state, score = redis.call('HGET', rows, id), nil
local pack, every = string.match(state or '', '^@(%S+) (%d+)$')
if pack then
  -- A row whose pack was evicted counts as never loaded.
  local header = redis.call('HGET', packed, pack) or ''
  state = (string.match(header, '^%d+') or string.rep('0', 13)) .. string.rep('0', 16) .. every
  score = redis.call('ZSCORE', packs, pack)
else
  score = redis.call('ZSCORE', due, id) or redis.call('ZSCORE', failed, id)
end

-- include server.time.part.lua
return {
  string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)),
  redis.call('GET', value),
  state,
  score,
  redis.call('HGET', failures, id),
  redis.call('HGET', errors, id),
}
