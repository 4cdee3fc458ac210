#!lua
-- Changes the schedule of rows: adds them, takes them out together with their values, or makes them due now. A row that is
-- being loaded loses its lease by that, so a result from before the change is not stored.
--
-- KEYS
--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   every     ZSET row id -> ms between refreshes; until idle
--   failures  HASH row id -> failed loads in a row; until idle
--   wake      channel of the refreshers that sleep; not a key
--   rows...   STRING, the value of each row of `plans`, in its order; until it expires
-- ARGV
--   publish   PUBLISH or SPUBLISH
--   idleMs    ms until a schedule that nobody touches goes away
--   plans...  for each row: its id, then 'now' or ms between refreshes (0: take it out)
-- RETURNS
--   for each row: 1 if it was scheduled before, else 0
local due, every, failures, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local publish, idleMs = ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))

local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local hasDue = false
local replies = {}
for index = 3, #ARGV, 2 do
  local id, plan = ARGV[index], ARGV[index + 1]
  local known = redis.call('ZSCORE', every, id)
  if plan == '0' then
    redis.call('ZREM', due, id)
    redis.call('ZREM', every, id)
    redis.call('HDEL', failures, id)
    redis.call('UNLINK', KEYS[4 + (index - 1) / 2])
  elseif plan == 'now' then
    if known then
      redis.call('ZADD', due, now, id)
      hasDue = true
    end
  elseif not known or tonumber(known) ~= tonumber(plan) or not redis.call('ZSCORE', due, id) then
    redis.call('ZADD', every, plan, id)
    redis.call('ZADD', due, now, id)
    hasDue = true
  end
  replies[#replies + 1] = known and 1 or 0
end
redis.call('PEXPIRE', due, idleMs)
redis.call('PEXPIRE', every, idleMs)
-- Refreshers sleep until the head is due; while it is, they are awake.
if hasDue and (not head or tonumber(head) > tonumber(now)) then
  redis.call(publish, wake, '*:')
end
return replies
