#!lua
-- Makes rows due now that have changed in the database. A row that is being loaded keeps its lease: a row that changes faster than
-- it can be loaded would otherwise never be stored. It is due at once if it is marked again after that load. One whose lease has ended
-- loses it, since who has it may still bring what the row was before. A row of a pack leaves it.
--
-- KEYS
--   due        ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows       HASH row id -> its state, or '@', its pack, ' ' and ms between refreshes; until idle
--   packs      ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed     HASH pack -> when its rows were loaded (13 digits), ...; <pack>:left -> '\n' and the id of each that has left; until idle
--   suspects   ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   hung       ZSET likewise, of rows whose query hangs; until idle
--   wake       channel of the refreshers that sleep; not a key
--   values...  STRING, the value of each row, in their order; until it expires
-- ARGV
--   publish    PUBLISH or SPUBLISH
--   idleMs     ms until a schedule that nobody touches goes away
--   ids...     of the rows
-- RETURNS
--   for each row: 0 if it isn't scheduled, 1 if it is due, 2 if it is being loaded
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local suspects, hung, wake = KEYS[5], KEYS[6], KEYS[7]
local publish, idleMs = ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)

local isAwake = false
for _, set in ipairs({ due, packs }) do
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  isAwake = isAwake or (head and tonumber(head) <= now)
end
-- Rows whose last load failed lie apart, and stay there.
local sets = redis.call('EXISTS', suspects, hung) > 0 and { due, suspects, hung } or { due }
local scores = {}
for index, set in ipairs(sets) do
  scores[index] = redis.call('ZMSCORE', set, unpack(ARGV, 3))
end
local states
-- Of packs: when they are due, and when they were loaded; '' if they are gone.
local packScores, loadedAts = {}, {}
local replies, marks, unpacked, left = {}, {}, {}, {}
for index = 1, #scores[1] do
  local id, at, setIndex = ARGV[index + 2], nil, 1
  for each = 1, #sets do
    if scores[each][index] then
      at, setIndex = tonumber(scores[each][index]), each
    end
  end
  local pack, every
  if not at then
    states = states or redis.call('HMGET', rows, unpack(ARGV, 3))
    pack, every = string.match(states[index] or '', '^@(%S+) (%d+)$')
    if pack then
      packScores[pack] = packScores[pack] or redis.call('ZSCORE', packs, pack) or ''
      loadedAts[pack] = loadedAts[pack] or string.match(redis.call('HGET', packed, pack) or '', '^%d+') or ''
      at = loadedAts[pack] ~= '' and tonumber(packScores[pack]) or nil
    end
  end
  if not at then
    replies[index] = 0
  elseif at > now and at % 1 ~= 0 then
    -- Leases end at half a millisecond.
    replies[index] = 2
  else
    replies[index] = 1
    if at > now or at % 1 ~= 0 then
      marks[setIndex] = marks[setIndex] or {}
      table.insert(marks[setIndex], nowText)
      table.insert(marks[setIndex], id)
      if pack then
        local head = redis.call('GETRANGE', KEYS[index + 7], 0, 15)
        unpacked[#unpacked + 1] = id
        unpacked[#unpacked + 1] = loadedAts[pack] .. (#head == 16 and head or string.rep('0', 16)) .. every
        left[pack] = left[pack] or { '' }
        table.insert(left[pack], id)
      end
    end
  end
end
if #unpacked > 0 then
  redis.call('HSET', rows, unpack(unpacked))
  for pack, ids in pairs(left) do
    local field = pack .. ':left'
    redis.call('HSET', packed, field, (redis.call('HGET', packed, field) or '') .. table.concat(ids, '\n'))
  end
end
for index, marked in pairs(marks) do
  redis.call('ZADD', sets[index], unpack(marked))
  -- For those that failed they may sleep while others are due.
  isAwake = isAwake and index == 1
end
if next(marks) then
  if #unpacked > 0 then
    redis.call('PEXPIRE', due, idleMs)
  end
  -- Refreshers sleep until the head is due; while it is, they are awake.
  if not isAwake then
    redis.call(publish, wake, '*:')
  end
end
return replies
