#!lua
-- Stores new tasks. A task without a delay is ready at once, behind the ready tasks of its lane, or of its group; a delayed
-- one waits in its lane's schedule. An id that is already stored, or remembered, is left alone. Wakes one parked worker when
-- there is something to run, and the timekeeper when something falls due earlier than it thinks.
--
-- KEYS
--   settings     STRING, see src/shard/settings-text.ts; written by the first call
--   tasks        HASH id -> record: u8 lane + flags, u16 attempts, f64 enqueued at (ms), then what the client wrote
--   attempts     HASH id -> last attempt; only where it waits in a group
--   idle         ZSET channel of a parked worker -> parked until, ms
--   timekeeper   STRING "<next due, ms> <channel>"
--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET; behind them, for a queue that uses
--                more than the core, the 16 keys of EXTENDED in src/keys.ts
-- ARGV
--   believed     the settings that the caller believes to be stored
--   publish      PUBLISH or SPUBLISH
--   entries...   two for each task, 1,000 at most: id, and the record with another f64 in its head, which says
--                when the task may run: 0 at once, below 0 so many ms from now, above 0 that instant
-- RETURNS
--   a string with one character a task: 1 stored, 0 was there already, C is there with another name or payload, F the queue
--   is full
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local believed, publish = ARGV[1], ARGV[2]
local FIRST_LANE = 6
local GROUPED, REMEMBERED, LANES = 16, 128, 16
local MAX_TASKS = 10000000
-- How many ids whose time is over are forgotten with each call.
local MOST_FORGOTTEN = 200

local isExtended = (#KEYS - 5) % 3 ~= 0
local grouped, groups, turns, resting, events, remembered
if isExtended then
  local before = #KEYS - 16
  grouped, groups, turns, resting = KEYS[before + 3], KEYS[before + 4], KEYS[before + 5], KEYS[before + 6]
  events, remembered = KEYS[before + 11], KEYS[before + 16]
end

local stored = redis.call('GET', settings)
if stored and stored ~= believed then
  return redis.error_reply('SETTINGS ' .. stored)
end
if not stored then
  redis.call('SET', settings, believed)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local enqueuedAt = struct.pack('>d', now)
local maxTasks = isExtended and tonumber(string.match(believed, ';max=(%d+)')) or MAX_TASKS
local keepEvents = isExtended and tonumber(string.match(believed, ';events=(%d+)')) or 0
local isPaused = isExtended and string.find(believed, ';paused=1', 1, true)

-- include task.wake.part.lua

-- What lies beyond the core. A function that is made costs 0.1 µs, also where it is never called.
local beyond, refused = {}, {}
if isExtended then
-- include task.group.part.lua
-- include task.events.part.lua
  beyond.joinGroup, beyond.happen = joinGroup, happen

  function beyond.tell()
    placeGroups()
    tellEvents()
  end

  if redis.call('EXISTS', remembered) == 1 then
    local old = redis.call('ZRANGE', remembered, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_FORGOTTEN)
    if #old > 0 then
      redis.call('ZREM', remembered, unpack(old))
    end
    -- Ids that are refused though their tasks may be gone.
    local ids = {}
    for i = 3, #ARGV, 2 do
      ids[#ids + 1] = ARGV[i]
    end
    refused = redis.call('ZMSCORE', remembered, unpack(ids))
  end
end

-- Whether a stored task has the name and the payload of another record.
local function isSame(id, record)
-- include task.essence.part.lua
  return essence(redis.call('HGET', tasks, id)) == essence(record)
end

local room = maxTasks - redis.call('HLEN', tasks)
local replies, ready, isReady, earliest = {}, {}, false, nil

for i = 3, #ARGV, 2 do
  local id, record = ARGV[i], ARGV[i + 1]
  local known = refused[(i - 1) / 2]
  if known and tonumber(known) > now then
    replies[#replies + 1] = '0'
  elseif room <= 0 and redis.call('HEXISTS', tasks, id) == 0 then
    replies[#replies + 1] = 'F'
  elseif redis.call('HSETNX', tasks, id, string.sub(record, 1, 3) .. enqueuedAt .. string.sub(record, 12)) == 0 then
    replies[#replies + 1] = isSame(id, record) and '0' or 'C'
  else
    replies[#replies + 1] = '1'
    room = room - 1
    local head, _, at = struct.unpack('>BHd', record)
    local lane = head % LANES
    if at < 0 then
      at = now - at
    end
    local key = FIRST_LANE + 3 * lane
    if at > now then
      redis.call('ZADD', KEYS[key + 1], at, id)
      earliest = math.min(earliest or at, at)
    elseif math.floor(head / GROUPED) % 2 == 1 then
      beyond.joinGroup(struct.unpack('>Hc0', record, 12), lane, id, 0)
      isReady = true
    else
      local ids = ready[key] or {}
      ready[key] = ids
      ids[#ids + 1] = id
      isReady = true
    end
    if isExtended then
      if head >= REMEMBERED then
        local windowAt = math.floor(head / GROUPED) % 2 == 1 and 14 + struct.unpack('>H', record, 12) or 12
        redis.call('ZADD', remembered, now + struct.unpack('>d', record, windowAt), id)
      end
      beyond.happen('E', id, record)
    end
  end
end
for key, ids in pairs(ready) do
  redis.call('RPUSH', KEYS[key], unpack(ids))
end
if isExtended then
  beyond.tell()
end

if isReady and not isPaused then
  wake(1)
end
if earliest then
  local due, channel = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
  if not due or tonumber(due) <= now then
    wake(1)
  elseif earliest < tonumber(due) and redis.call(publish, channel, 'w:') == 0 then
    redis.call('DEL', timekeeper)
    wake(1)
  end
end
return table.concat(replies)
