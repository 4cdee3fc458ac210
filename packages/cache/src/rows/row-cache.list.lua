#!lua flags=no-writes
-- Some rows of a shard with their places in the schedule, in the order of HSCAN: a row that is scheduled all the time is found. Few rows
-- are found at once, whatever their number is, unless the hash is small. O(limit · log n).
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs     ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed    HASH pack -> when its rows were loaded (13 digits), ...; until idle
--   failed    ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   errors    HASH row id -> the text of its last failure, while `failures` has it; until idle
-- ARGV
--   position   of HSCAN; 0: the beginning
--   limit      how many rows to look at, about
--   isFailing  '1': rows whose last load failed, '0': all
-- RETURNS
--   the next position (0: this is the end); now (ms); then five for each row: its id, its state, when it is due (or the end of its
--   lease; false: unknown), its failures or 0, and the text of the last one or ''
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failed, failures, errors = KEYS[5], KEYS[6], KEYS[7]
local position, limit, isFailing = ARGV[1], ARGV[2], ARGV[3] == '1'

local found = redis.call('HSCAN', isFailing and failures or rows, position, 'COUNT', limit)
-- include server.time.part.lua
local reply = {
  found[1],
  string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)),
}
local ids = {}
for index = 1, #found[2], 2 do
  ids[#ids + 1] = found[2][index]
end
if #ids == 0 then
  return reply
end
local states = redis.call('HMGET', rows, unpack(ids))
local counts = redis.call('HMGET', failures, unpack(ids))
local texts = redis.call('HMGET', errors, unpack(ids))
local dueAt = redis.call('ZMSCORE', due, unpack(ids))
local failedAt = redis.call('ZMSCORE', failed, unpack(ids))
for index, id in ipairs(ids) do
  local state, score = states[index], dueAt[index] or failedAt[index]
  local pack, every = string.match(state or '', '^@(%S+) (%d+)$')
  if pack then
    -- A row whose pack was evicted counts as never loaded.
    local header = redis.call('HGET', packed, pack) or ''
    state = (string.match(header, '^%d+') or string.rep('0', 13)) .. string.rep('0', 16) .. every
    score = redis.call('ZSCORE', packs, pack)
  end
  -- Its state was evicted.
  if state then
    for _, part in ipairs({ id, state, score, counts[index] or '0', texts[index] or '' }) do
      reply[#reply + 1] = part
    end
  end
end
return reply
