#!lua
-- Makes rows due that have changed in the database. A row that is being loaded keeps its lease: otherwise a row that changes faster
-- than it loads would never be stored. It becomes due when it is marked again after that load. An ended lease is revoked,
-- because its holder may still store the row as it was before the change. A row of a pack leaves it.
--
-- KEYS
--   due        ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows       HASH row id -> its state, or '@', its pack, ' ' and ms between refreshes; until idle
--   packs      ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed     HASH pack -> when its rows were loaded (13 digits), ...; <pack>:left -> '\n' and the id of each row that left; until idle
--   failed     ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   wake       channel of idle refreshers; not a key
--   values...  STRING, the value of each row, in their order; until it expires
-- ARGV
--   publish    PUBLISH or SPUBLISH
--   idleMs     ms until an unused schedule expires
--   ids...     of the rows
-- RETURNS
--   for each row: 0 if it isn't scheduled, 1 if it is due, 2 if it is being loaded
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failed, wake = KEYS[5], KEYS[6]
local publish, idleMs = ARGV[1], ARGV[2]

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)

local isAwake = false
for _, set in ipairs({ due, packs }) do
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  isAwake = isAwake or (head and tonumber(head) <= now)
end
-- Failed rows stay apart until they are loaded.
local sets = redis.call('EXISTS', failed) > 0 and { due, failed } or { due }
local scores = {}
for index, set in ipairs(sets) do
  scores[index] = redis.call('ZMSCORE', set, unpack(ARGV, 3))
end
local states
-- For each pack: when it is due, and when it was loaded; '' if it does not exist.
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
        local head = redis.call('GETRANGE', KEYS[index + 6], 0, 15)
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
  -- Refreshers may sleep until the next failed row while others are due.
  isAwake = isAwake and index == 1
end
if next(marks) then
  if #unpacked > 0 then
    redis.call('PEXPIRE', due, idleMs)
  end
  -- Refreshers sleep until the first row is due; while it is, they are awake.
  if not isAwake then
    redis.call(publish, wake, '*:')
  end
end
return replies
