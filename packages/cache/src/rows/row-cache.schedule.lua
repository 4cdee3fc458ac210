#!lua
-- Changes the schedule of rows: adds them, removes them with their values, or makes them due now. A row that is being loaded
-- loses its lease, so a result from before the change is not stored. A changed row leaves its pack.
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs     ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed    HASH pack -> when its rows were loaded (13 digits), ...; <pack>:left -> '\n' and the id of each row that left; until idle
--   failed    ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   errors    HASH row id -> the text of its last failure, while `failures` has it; until idle
--   unloaded  STRING, the number of rows that were never loaded; until idle
--   wake      channel of idle refreshers; not a key
--   values...  STRING, the value of each row of `changes`, in its order; until it expires
-- ARGV
--   publish   PUBLISH or SPUBLISH
--   idleMs    ms until an unused schedule expires
--   keepMs    ms that a value is kept without being loaded again, unless 10 times its delay is more
--   changes...  for each row: its id, then 'now' or ms between refreshes (0: remove it)
-- RETURNS
--   for each row: 1 if it was scheduled before, else 0
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failed, failures, errors, unloaded, wake = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local publish, idleMs, keepMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- The state of a row that was never loaded has no time and no head.
local NEVER, NO_HEAD = string.rep('0', 29), string.rep('0', 16)

-- include server.time.part.lua
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))

local isAwake = false
for _, set in ipairs({ due, packs }) do
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  isAwake = isAwake or (head and tonumber(head) <= tonumber(now))
end
local hasFailed = redis.call('EXISTS', failed) > 0
-- The set with the score of a single row. A failed row stays apart until it is loaded.
local function setOf(id)
  return hasFailed and redis.call('ZSCORE', failed, id) and failed or due
end
local hasDue, hasFailedDue, added = false, false, 0
-- Refreshers may sleep until the next failed row while others are due.
local function makeDue(id)
  local set = setOf(id)
  redis.call('ZADD', set, now, id)
  hasDue, hasFailedDue = true, hasFailedDue or set ~= due
end
-- For each pack: its header (false: it does not exist), and the rows that leave it.
local headers, left = {}, {}
local function headerOf(pack)
  if headers[pack] == nil then
    headers[pack] = redis.call('ZSCORE', packs, pack) and redis.call('HGET', packed, pack)
  end
  return headers[pack]
end
local function leave(pack, id)
  left[pack] = left[pack] or { '' }
  table.insert(left[pack], id)
end
-- The state of a row that leaves its pack. Its head comes from its value, if there is one.
local function unpacked(id, pack, every, value)
  local header = headerOf(pack)
  if not header then
    added = added + 1
    return NEVER .. every
  end
  leave(pack, id)
  local known = redis.call('GETRANGE', value, 0, 15)
  return string.sub(header, 1, 13) .. (#known == 16 and known or NO_HEAD) .. every
end

local replies = {}
for index = 4, #ARGV, 2 do
  local id, change, value = ARGV[index], ARGV[index + 1], KEYS[9 + (index - 2) / 2]
  local state = redis.call('HGET', rows, id)
  local isKnown = state and 1 or 0
  local pack, every = string.match(state or '', '^@(%S+) (%d+)$')
  if change == '0' then
    if pack then
      leave(pack, id)
    end
    if state and string.sub(state, 1, 1) == '0' then
      added = added - 1
    end
    redis.call('ZREM', setOf(id), id)
    redis.call('HDEL', rows, id)
    if redis.call('HDEL', failures, id) == 1 then
      redis.call('HDEL', errors, id)
    end
    redis.call('UNLINK', value)
  elseif change == 'now' then
    if pack then
      redis.call('HSET', rows, id, unpacked(id, pack, every, value))
      redis.call('ZADD', due, now, id)
      hasDue = true
    elseif state then
      -- Refreshers rarely check an unchanged value; without a head it is stored anew.
      if string.sub(state, 14, 29) ~= NO_HEAD and redis.call('EXISTS', value) == 0 then
        redis.call('HSET', rows, id, string.sub(state, 1, 13) .. NO_HEAD .. string.sub(state, 30))
      end
      makeDue(id)
    end
  elseif
    not state
    or (pack and (every ~= change or not headerOf(pack)))
    or (not pack and (string.sub(state, 30) ~= change or not redis.call('ZSCORE', setOf(id), id)))
  then
    if pack then
      state = unpacked(id, pack, every, value)
    elseif not state then
      added = added + 1
    end
    local known = state and string.sub(state, 1, 29) or NEVER
    if state and 10 * tonumber(change) > math.max(keepMs, 10 * tonumber(string.sub(state, 30))) then
      -- Its value would expire before its expiry is renewed: without a head it is stored anew.
      known = string.sub(state, 1, 13) .. NO_HEAD
    end
    redis.call('HSET', rows, id, known .. change)
    makeDue(id)
  end
  replies[#replies + 1] = isKnown
end
for pack, ids in pairs(left) do
  if headerOf(pack) then
    local field = pack .. ':left'
    redis.call('HSET', packed, field, (redis.call('HGET', packed, field) or '') .. table.concat(ids, '\n'))
  end
end
if added ~= 0 and redis.call('INCRBY', unloaded, added) <= 0 then
  redis.call('UNLINK', unloaded)
end
for _, key in ipairs({ due, rows, packs, packed, unloaded, hasFailed and failed or nil }) do
  redis.call('PEXPIRE', key, idleMs)
end
-- Refreshers sleep until the first row is due; while it is, they are awake.
if hasFailedDue or (hasDue and not isAwake) then
  redis.call(publish, wake, '*:')
end
return replies
