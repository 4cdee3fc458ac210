#!lua flags=no-writes
-- Counts the schedule of a shard.
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows      HASH row id -> its state; until idle
--   packs     ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed    HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', their number; <pack>:left -> '\n'
--             and the id of each row that left; until idle
--   failed    ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   source    HASH, exists while the source is down; until idle
--   unloaded  STRING, the number of rows that were never loaded; until idle
-- RETURNS
--   the number of rows; of due rows (estimated beyond 1,000 due packs); of rows whose last load failed; of rows never loaded;
--   how long the first other row has been due (ms); failures of the source in a row
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failed, failures, source, unloaded = KEYS[5], KEYS[6], KEYS[7], KEYS[8]

local MAX_PACKS = 1000

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%.0f', now)
local overdue, lagMs = 0, 0
for _, set in ipairs({ due, failed }) do
  overdue = overdue + redis.call('ZCOUNT', set, '-inf', nowText)
end
for _, set in ipairs({ due, packs }) do
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  lagMs = math.max(lagMs, head and now - tonumber(head) or 0)
end
local overduePacks = redis.call('ZCOUNT', packs, '-inf', nowText)
if overduePacks > 0 then
  local fields = {}
  for _, pack in ipairs(redis.call('ZRANGE', packs, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, MAX_PACKS)) do
    fields[#fields + 1] = pack
    fields[#fields + 1] = pack .. ':left'
  end
  local found, inPacks = redis.call('HMGET', packed, unpack(fields)), 0
  for index = 1, #fields, 2 do
    local _, left = string.gsub(found[index + 1] or '', '\n', '')
    inPacks = inPacks + tonumber(string.match(found[index] or '', '%d+$') or 0) - left
  end
  overdue = overdue + math.floor(inPacks * overduePacks / (#fields / 2) + 0.5)
end
return {
  redis.call('HLEN', rows),
  overdue,
  redis.call('HLEN', failures),
  tonumber(redis.call('GET', unloaded) or 0),
  lagMs,
  tonumber(redis.call('HGET', source, 'failures') or 0),
}
