#!lua
-- Makes rows due now that have changed in the database. A row that is being loaded keeps its lease: a row that changes faster than
-- it can be loaded would otherwise never be stored. It is due at once if it is marked again after that load.
--
-- KEYS
--   due   ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   wake  channel of the refreshers that sleep; not a key
-- ARGV
--   publish  PUBLISH or SPUBLISH
--   ids...   of the rows
-- RETURNS
--   for each row: 0 if it isn't scheduled, 1 if it is due, 2 if it is being loaded
local due, wake = KEYS[1], KEYS[2]
local publish = ARGV[1]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local scores = redis.call('ZMSCORE', due, unpack(ARGV, 2))
local replies, marks = {}, {}
for index = 2, #ARGV do
  local id, score = ARGV[index], scores[index - 1]
  local at = score and tonumber(score)
  if not at then
    replies[index - 1] = 0
  elseif at > now and at % 1 ~= 0 then
    -- Leases end at half a millisecond.
    replies[index - 1] = 2
  else
    replies[index - 1] = 1
    if at > now then
      marks[#marks + 1] = string.format('%d', now)
      marks[#marks + 1] = id
    end
  end
end
if #marks > 0 then
  redis.call('ZADD', due, 'XX', unpack(marks))
  -- Refreshers sleep until the head is due; while it is, they are awake.
  if tonumber(head) > now then
    redis.call(publish, wake, '*:')
  end
end
return replies
