#!lua
-- Enqueues tasks under a key that at most one task has that no worker has fetched yet: the task of the key gets the new
-- payload, another time, or the new elements, or a new task is stored. Also replaces the payload of a task by its id.
--
-- The key is freed by the first fetch, although the entry stays until the record is deleted: an update that comes while a
-- task runs must not be lost, so it is a new task. Rejected: an update that the running task gets at its end; its handler
-- may have read the state of the world before the update.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   timekeeper        STRING "<next due, ms> <member of idle>"
--   tombstones        HASH id -> priorities of its tombstones; a priority -> their number
--   grouped           ZSET of waiting tasks with a group
--   groups            HASH group -> waiting, active, rate
--   runnableGroups    ZSET group that may run -> priority and order
--   limitedGroups     ZSET group over its rate limit -> until
--   events            STREAM
--   dedupKeys         HASH k and a key -> u32 number of elements · id; i and that id -> the key
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   isEarlier         1: the shard is one of an earlier number of shards, and changes only tasks that it has, and stores only those of
--                     a group that it has; 0
--   entries...        eight for each, 64 at most: mode; id; key; record, or the payload for a P; when the task is due, ms (0: now,
--                     negative: so many ms from now); number of elements of its payload; most elements and most bytes of a payload
--                     modes: K keep the task of the key, R replace its payload, E the same and the earlier time, L the same and the
--                     later time, A append the elements; P replace the payload of the task `id`, whatever its key
-- RETURNS
--   for each entry a string: 1 stored or replaced; 0 and the id of the task that has the key; C and its id: that task has another
--   name, or its payload is no array; F the queue is full; E not in a shard of an earlier number; for a P also A the task is active or has succeeded, - unknown
--   error SETTINGS <stored>: other settings are stored; ;: none, the queue was removed. Nothing is written
local settings, tasks, attempts, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local tombstones, grouped, groups, runnableGroups = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local limitedGroups, events, dedupKeys = KEYS[10], KEYS[11], KEYS[12]
local expectedSettings, publish, isEarlier = ARGV[1], ARGV[2], ARGV[3] == '1'
local entries = { unpack(ARGV, 4) }
local priorityKeys = { unpack(KEYS, 13) }
local PRIORITIES = 16

-- include shard.settings.part.lua
if not stored then
  return redis.error_reply('SETTINGS ;')
end
local usesOptional = true
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
local isPaused = string.find(expectedSettings, ';paused=1', 1, true)
-- include shard.room.part.lua
local room = mostTasks(expectedSettings) - redis.call('HLEN', tasks)

-- include task.wake.part.lua
-- include shard.time.part.lua
-- include task.group.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.compact.part.lua
-- include task.place.part.lua

local isDue, nextDue = false, math.huge

local function delayUntil(scheduled, at, id)
  redis.call('ZADD', scheduled, string.format('%.3f', at), id)
  if at <= now then
    isDue = true
  else
    nextDue = math.min(nextDue, at)
  end
end

-- The record of a task that no worker has fetched yet, and its entry in attempts, which it has only in a group.
local function unfetched(id)
  local record, last = expandRecord(redis.call('HGET', tasks, id), redis.call('HGET', attempts, id))
  if not record or last and (string.sub(last, 1, 1) ~= 'Q' or #last > 11 or struct.unpack('>H', last, 10) > 0) then
    return nil
  end
  return record, last
end

-- The payload of a task is replaced; everything before it stays.
local function setPayload(id, record, payload)
  local _, payloadAt = nameOf(record)
  redis.call('HSET', tasks, id, string.sub(record, 1, payloadAt - 1) .. payload)
  recordEvent('V', id, '')
end

local function makeDue(id, record)
  local _, scheduled = keysOf(record)
  local at = redis.call('ZSCORE', scheduled, id)
  if at and tonumber(at) > now then
    delayUntil(scheduled, now, id)
    recordEvent('Y', id, '')
  end
end

-- Moves a task to the instant `at`, if that is earlier, or later with `isLater`.
local function move(id, record, last, at, isLater)
  local ready, scheduled, retrying = keysOf(record)
  local _, before = delayOf(id, scheduled, retrying)
  before = tonumber(before) or now
  if isLater and at > math.max(before, now) or not isLater and at < before then
    if before <= now and last then
      quitGroup(groupOf(record), string.byte(record) % PRIORITIES, id, last)
      redis.call('HDEL', attempts, id)
    elseif before <= now and not redis.call('ZSCORE', scheduled, id) then
      takeFromList(ready, id, string.byte(record) % PRIORITIES)
    end
    delayUntil(scheduled, math.max(at, now), id)
    recordEvent(at > now and 'T' or 'Y', id, '')
  end
end

local function join(array, more)
  if array == '[]' or more == '[]' then
    return array == '[]' and more or array
  end
  return string.sub(array, 1, -2) .. ',' .. string.sub(more, 2)
end

local function store(id, key, record, at, count)
  if room <= 0 then
    return 'F'
  end
  room = room - 1
  record = string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12)
  local before = redis.call('HGET', dedupKeys, 'k' .. key)
  if before then
    redis.call('HDEL', dedupKeys, 'i' .. string.sub(before, 5))
  end
  redis.call('HSET', tasks, id, record)
  redis.call('HSET', dedupKeys, 'k' .. key, struct.pack('>I', count) .. id, 'i' .. id, key)
  local ready, scheduled = keysOf(record)
  local group = groupOf(record)
  if at > now then
    delayUntil(scheduled, at, id)
  else
    isDue = true
    if group then
      joinGroup(group, string.byte(record) % PRIORITIES, id, 0)
    else
      redis.call('RPUSH', ready, id)
    end
  end
  recordEvent('E', id, record)
  return '1'
end

local function enqueue(mode, id, key, record, at, count, most, mostBytes)
  if redis.call('HEXISTS', tasks, id) == 1 then
    -- The same command again, after a lost reply.
    return '1'
  end
  local entry = redis.call('HGET', dedupKeys, 'k' .. key)
  local other = entry and string.sub(entry, 5)
  local present, last
  if other then
    present, last = unfetched(other)
  end
  local group = groupOf(record)
  if isEarlier and not present and not (group and redis.call('HEXISTS', groups, group) == 1) then
    return 'E'
  end
  if not present then
    return store(id, key, record, mode == 'A' and count >= most and now or at, count)
  end
  local name, payloadAt = nameOf(record)
  local otherName, otherAt = nameOf(present)
  local payload, otherPayload = string.sub(record, payloadAt), string.sub(present, otherAt)
  if name ~= otherName or mode == 'A' and string.sub(otherPayload, 1, 1) ~= '[' then
    return 'C' .. other
  end
  if mode == 'A' then
    local total = struct.unpack('>I', entry) + count
    local joined = join(otherPayload, payload)
    if total > most or #joined > mostBytes then
      makeDue(other, present)
      return store(id, key, record, count >= most and now or at, count)
    end
    setPayload(other, present, joined)
    redis.call('HSET', dedupKeys, 'k' .. key, struct.pack('>I', total) .. other)
    if total == most then
      makeDue(other, present)
    end
  elseif mode ~= 'K' then
    setPayload(other, present, payload)
    redis.call('HSET', dedupKeys, 'k' .. key, struct.pack('>I', count) .. other)
    if mode ~= 'R' then
      move(other, present, last, at, mode == 'L')
    end
  end
  return '0' .. other
end

local function replace(id, payload, count)
  local record, last = expandRecord(redis.call('HGET', tasks, id), redis.call('HGET', attempts, id))
  if not record then
    return '-'
  end
  local state = string.sub(last or '', 1, 1)
  if state == 'A' or state == 'S' then
    return 'A'
  end
  setPayload(id, record, payload)
  local key = redis.call('HGET', dedupKeys, 'i' .. id)
  if key then
    redis.call('HSET', dedupKeys, 'k' .. key, struct.pack('>I', count) .. id)
  end
  return '1'
end

local replies = {}
for i = 1, #entries, 8 do
  local mode, id, key, record, when, count, most, mostBytes = unpack(entries, i, i + 7)
  when, count = tonumber(when), tonumber(count)
  if mode == 'P' then
    replies[#replies + 1] = replace(id, record, count)
  else
    local at = when < 0 and time[1] * 1000 + time[2] / 1000 - when or math.max(when, now)
    replies[#replies + 1] = enqueue(mode, id, key, record, at, count, tonumber(most), tonumber(mostBytes))
  end
end
placeGroups()
publishEvents()
if isDue and not isPaused then
  wake(1)
end
if nextDue < math.huge then
  callAt(nextDue)
end
return replies
