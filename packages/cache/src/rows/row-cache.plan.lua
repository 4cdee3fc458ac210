#!lua
-- Changes the schedule of rows: adds them, takes them out together with their values, or makes them due now. A row that is
-- being loaded loses its lease by that, so a result from before the change is not stored.
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   unloaded  STRING, the number of rows that were never loaded; until idle
--   wake      channel of the refreshers that sleep; not a key
--   values...  STRING, the value of each row of `plans`, in its order; until it expires
-- ARGV
--   publish   PUBLISH or SPUBLISH
--   idleMs    ms until a schedule that nobody touches goes away
--   keepMs    ms that a value is kept without being loaded again, unless 10 times its delay is more
--   plans...  for each row: its id, then 'now' or ms between refreshes (0: take it out)
-- RETURNS
--   for each row: 1 if it was scheduled before, else 0
local due, rows, failures, unloaded, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local publish, idleMs, keepMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- The state of a row that was never loaded has no time and no head.
local NEVER, NO_HEAD = string.rep('0', 29), string.rep('0', 16)

local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))

local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local hasDue, added = false, 0
local replies = {}
for index = 4, #ARGV, 2 do
  local id, plan, value = ARGV[index], ARGV[index + 1], KEYS[5 + (index - 2) / 2]
  local state = redis.call('HGET', rows, id)
  if plan == '0' then
    if state and string.sub(state, 1, 1) == '0' then
      added = added - 1
    end
    redis.call('ZREM', due, id)
    redis.call('HDEL', rows, id)
    redis.call('HDEL', failures, id)
    redis.call('UNLINK', value)
  elseif plan == 'now' then
    if state then
      -- Refreshers look for a value that has not changed only from time to time; without a head it is stored anew.
      if string.sub(state, 14, 29) ~= NO_HEAD and redis.call('EXISTS', value) == 0 then
        redis.call('HSET', rows, id, string.sub(state, 1, 13) .. NO_HEAD .. string.sub(state, 30))
      end
      redis.call('ZADD', due, now, id)
      hasDue = true
    end
  elseif not state or string.sub(state, 30) ~= plan or not redis.call('ZSCORE', due, id) then
    if not state then
      added = added + 1
    end
    local known = state and string.sub(state, 1, 29) or NEVER
    if state and 10 * tonumber(plan) > math.max(keepMs, 10 * tonumber(string.sub(state, 30))) then
      -- Its value would expire before its expiry is put off: without a head it is stored anew.
      known = string.sub(state, 1, 13) .. NO_HEAD
    end
    redis.call('HSET', rows, id, known .. plan)
    redis.call('ZADD', due, now, id)
    hasDue = true
  end
  replies[#replies + 1] = state and 1 or 0
end
if added ~= 0 and redis.call('INCRBY', unloaded, added) <= 0 then
  redis.call('UNLINK', unloaded)
end
for _, key in ipairs({ due, rows, unloaded }) do
  redis.call('PEXPIRE', key, idleMs)
end
-- Refreshers sleep until the head is due; while it is, they are awake.
if hasDue and (not head or tonumber(head) > tonumber(now)) then
  redis.call(publish, wake, '*:')
end
return replies
