#!lua
-- Stores new tasks. A task without a delay is ready at once, behind the ready tasks of its lane; a delayed one waits
-- in its lane's schedule. An id that is already stored is left alone. Wakes one parked worker when there is something
-- to run, and the timekeeper when something falls due earlier than it thinks.
--
-- KEYS
--   priorities   STRING names, comma-separated; written once
--   tasks        HASH id -> record: u8 lane, u16 attempts, f64 enqueued at (ms), then what the client wrote
--   idle         ZSET channel of a parked worker -> parked until, ms
--   timekeeper   STRING "<next due, ms> <channel>"
--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   names        the priorities that the caller knows, comma-separated
--   publish      PUBLISH or SPUBLISH
--   entries...   two for each task, 1,000 at most: id, and the record with another f64 in its head, which says
--                when the task may run: 0 at once, below 0 so many ms from now, above 0 that instant
-- RETURNS
--   a string with one character a task: 1 stored, 0 was there already
--   error PRIORITIES <stored>: the queue has other priorities; nothing is written
local priorities, tasks, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local names, publish = ARGV[1], ARGV[2]
local FIRST_LANE = 5

local stored = redis.call('GET', priorities)
if stored and stored ~= names then
  return redis.error_reply('PRIORITIES ' .. stored)
end
if not stored then
  redis.call('SET', priorities, names)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local enqueuedAt = struct.pack('>d', now)
local replies, ready, isReady, earliest = {}, {}, false, nil

for i = 3, #ARGV, 2 do
  local id, record = ARGV[i], ARGV[i + 1]
  local isNew = redis.call('HSETNX', tasks, id, string.sub(record, 1, 3) .. enqueuedAt .. string.sub(record, 12))
  replies[#replies + 1] = isNew
  if isNew == 1 then
    local lane, _, at = struct.unpack('>BHd', record)
    if at < 0 then
      at = now - at
    end
    local key = FIRST_LANE + 3 * lane
    if at > now then
      redis.call('ZADD', KEYS[key + 1], at, id)
      earliest = math.min(earliest or at, at)
    else
      local ids = ready[key] or {}
      ready[key] = ids
      ids[#ids + 1] = id
      isReady = true
    end
  end
end
for key, ids in pairs(ready) do
  redis.call('RPUSH', KEYS[key], unpack(ids))
end

-- Tells one worker, skipping those that are gone or whose parking time is over.
local function wake()
  for _ = 1, 16 do
    local parked = redis.call('ZPOPMIN', idle)
    if #parked == 0 then
      return
    end
    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], 'w:') > 0 then
      return
    end
  end
end

if isReady then
  wake()
end
if earliest then
  local due, channel = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
  if not due or tonumber(due) <= now then
    wake()
  elseif earliest < tonumber(due) and redis.call(publish, channel, 'w:') == 0 then
    redis.call('DEL', timekeeper)
    wake()
  end
end
return table.concat(replies)
