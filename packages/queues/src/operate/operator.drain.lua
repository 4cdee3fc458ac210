#!lua flags=allow-oom
-- Removes waiting tasks that were enqueued up to an instant, up to a limit.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   tombstones        HASH id -> priorities of its tombstones
--   grouped           ZSET of waiting tasks with a group
--   groups            HASH group -> waiting, active, rate
--   runnableGroups    ZSET group that may run -> priority and order
--   limitedGroups     ZSET group over its rate limit -> until
--   progress          HASH id -> JSON
--   logs              HASH id -> lines
--   awaited           ZSET id -> until when a process waits for its end
--   events            STREAM
--   flows             HASH
--   outbox            HASH
--   dedupKeys         HASH k and a key -> elements and id; i and that id -> the key
--   steps             HASH, see task.steps.part.lua
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   priorityCount     number of priorities
--   most              entries to read, 1 to 500
--   upTo              ms since the epoch; 0: now, and what bears a time that is slightly ahead
--   isAll             1: also scheduled and retrying tasks
-- RETURNS
--   { removed, upTo, isOver }: number of removed tasks; the instant, for the next call; 1 when there are none left
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, idle, tombstones, grouped = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local groups, runnableGroups, limitedGroups, progress, logs = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local awaited, events, flows, outbox, dedupKeys, steps = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local expectedSettings, publish, priorityCount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local most, upTo, isAll = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local ready, scheduled, retrying = {}, {}, {}
for priority = 0, priorityCount - 1 do
  ready[priority], scheduled[priority], retrying[priority] = unpack(KEYS, 18 + 3 * priority, 20 + 3 * priority)
end

-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- As in queue.enqueue.lua: a task may bear a time that the server's clock has not reached yet.
local MOST_AHEAD = 2
if upTo == 0 then
  upTo = now + MOST_AHEAD
end
local usesOptional = true
local PRIORITIES = 16
-- Records are read in batches; the batch that exceeds this size is the last one of the call.
local BATCH = 50
local MOST_BYTES = 4194304
local left, bytes, removed, hasMoved = most, 0, 0, false

-- include task.wake.part.lua
-- include task.group.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include task.steps.part.lua
-- include task.delete.part.lua
-- include task.release.part.lua

local function isOver()
  return left <= 0 or bytes >= MOST_BYTES
end

-- Deletes all data of tasks whose entries are removed; `records` has false for an unknown id.
local function removeAll(ids, records)
  local gone = {}
  for i, id in ipairs(ids) do
    if records[i] then
      recordEnd(id, string.byte(records[i]), '')
      recordEvent('X', id, '')
      gone[#gone + 1] = id
    end
  end
  if #gone > 0 then
    deleteTasks(gone)
    removed = removed + #gone
  end
end

local function recordsOf(ids)
  local records = redis.call('HMGET', tasks, unpack(ids))
  for _, record in ipairs(records) do
    bytes = bytes + (record and #record or 0)
  end
  left = left - #ids
  return records
end

local function isOld(record)
  return not record or struct.unpack('>d', record, 4) <= upTo
end

-- Later tasks stay; returns when only such are left, or the call is over.
local function drainSet(key, latest, isRetrying)
  local skipped = 0
  while not isOver() do
    local ids = redis.call('ZRANGE', key, '-inf', latest, 'BYSCORE', 'LIMIT', skipped, math.min(BATCH, left))
    if #ids == 0 then
      return
    end
    local oldIds, oldRecords = {}, {}
    local lasts = isRetrying and redis.call('HMGET', attempts, unpack(ids)) or {}
    for i, record in ipairs(recordsOf(ids)) do
      if isOld(record) then
        oldIds[#oldIds + 1], oldRecords[#oldRecords + 1] = ids[i], record
        if record and lasts[i] and string.sub(lasts[i], 1, 1) == 'H' then
          releaseGroup(record)
        end
      else
        skipped = skipped + 1
      end
    end
    if #oldIds > 0 then
      redis.call('ZREM', key, unpack(oldIds))
      hasMoved = true
      removeAll(oldIds, oldRecords)
    end
  end
end

-- Removes the tombstone of an id in a priority; returns whether there was one.
local hasTombstones = redis.call('EXISTS', tombstones) == 1
local function removeTombstone(id, char)
  local void = hasTombstones and redis.call('HGET', tombstones, id)
  local at = void and string.find(void, char, 1, true)
  if not at then
    return false
  end
  if #void == 1 then
    redis.call('HDEL', tombstones, id)
  else
    redis.call('HSET', tombstones, id, string.sub(void, 1, at - 1) .. string.sub(void, at + 1))
  end
  if redis.call('HINCRBY', tombstones, char, -1) == 0 then
    redis.call('HDEL', tombstones, char)
  end
  return true
end

local function drainList(key, priority)
  local char = string.char(48 + priority)
  while not isOver() do
    local ids = redis.call('LRANGE', key, 0, math.min(BATCH, left) - 1)
    if #ids == 0 then
      return
    end
    local goneIds, goneRecords, count = {}, {}, 0
    for i, record in ipairs(recordsOf(ids)) do
      if removeTombstone(ids[i], char) then
        count = i
      elseif isOld(record) then
        count = i
        goneIds[#goneIds + 1], goneRecords[#goneRecords + 1] = ids[i], record
      else
        break
      end
    end
    if count > 0 then
      redis.call('LPOP', key, count)
      hasMoved = true
      removeAll(goneIds, goneRecords)
    end
    if count < #ids then
      return
    end
  end
end

local function drainGroups()
  local skipped = 0
  while not isOver() do
    local entries = redis.call('ZRANGE', grouped, skipped, skipped + math.min(BATCH, left) - 1)
    if #entries == 0 then
      return
    end
    local ids = {}
    for i, entry in ipairs(entries) do
      ids[i] = string.sub(entry, struct.unpack('>H', entry) + 12)
    end
    local lasts = redis.call('HMGET', attempts, unpack(ids))
    local oldIds, oldRecords = {}, {}
    for i, record in ipairs(recordsOf(ids)) do
      if record and not isOld(record) then
        skipped = skipped + 1
      else
        oldIds[#oldIds + 1], oldRecords[#oldRecords + 1] = ids[i], record
        if record then
          quitGroup(groupOf(record), string.byte(record) % PRIORITIES, ids[i], lasts[i])
        else
          redis.call('ZREM', grouped, entries[i])
        end
      end
    end
    if #oldIds > 0 then
      hasMoved = true
      removeAll(oldIds, oldRecords)
    end
  end
end

for priority = 0, #ready do
  drainSet(scheduled[priority], isAll and 'inf' or now, false)
  drainSet(retrying[priority], isAll and 'inf' or now, true)
  drainList(ready[priority], priority)
end
drainGroups()
placeGroups()
publishEnds()
publishEvents()
if hasFreed or #parentNotices > 0 then
  wake(1)
end
-- The remaining tasks may all be later ones.
return { removed, upTo, isOver() and hasMoved and 0 or 1 }
