#!lua flags=allow-oom
-- Housekeeping of a shard, once a second while its workers are busy: returns tasks whose lease has ended, removes ended
-- tasks that are too old or too many, and compacts the records of succeeded tasks (see src/task/compact-record.ts). Each
-- call does a limited part. Several workers may call at the same time. tooling/models/task-lease.pml is a model of leases.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt, see fetcher.fetch-and-ack.lua
--   active            ZSET u32 token · id -> end of the lease, ms
--   succeeded         LIST ids, oldest first
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET; then features; then, with usesOptional,
--                     the other keys of the optional features in the order of src/keys.ts
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   priorityCount     number of priorities
--   usesOptional      1: the queue uses optional features; 0
--   keepSucceeded     count
--   keepSucceededMs   ms
--   keepDead          count
--   compacts          1: compact records, unless a task is ready; 0
-- RETURNS
--   { putBack, maintenance }: how many leases had ended, up to 100; maintenance that is due: 1 a schedule + 2 the outbox
--   error             SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local succeeded, dead, idle = KEYS[5], KEYS[6], KEYS[7]
local expectedSettings, publish, priorityCount, usesOptional = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local keepSucceeded, keepSucceededMs, keepDead = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local compacts = ARGV[8] == '1'
local priorityKeys = { unpack(KEYS, 8) }
local PRIORITIES = 16
local MOST_RECOVERED = '100'
local MOST_REMOVED = 1000
local MOST_AGED = 200

-- include shard.settings.part.lua

local optional, grouped, groups, runnableGroups, limitedGroups, progress
local logs, awaited, events, flows, outbox, dueSchedules, dedupKeys, steps, keepEvents
if usesOptional then
  local _
  _, _, grouped, groups, runnableGroups, limitedGroups, _, progress = unpack(priorityKeys, 3 * priorityCount + 2)
  logs, awaited, events, flows, outbox, _, dueSchedules, _, dedupKeys, steps = unpack(priorityKeys, 3 * priorityCount + 10)
  keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
end
-- include task.group.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include flow.due.part.lua
-- include task.steps.part.lua
-- include task.delete.part.lua
-- include task.compact.part.lua
-- include task.wake.part.lua
if usesOptional then
  optional = { isOrdered = isOrdered, leaveGroup = leaveGroup, recordEnd = recordEnd, recordEvent = recordEvent }
end

-- 1. Ended leases. Their tasks are due now, so they come before the ready tasks of their priority.
local changed, hasDied = {}, false
-- include attempt.return.part.lua
local expired = redis.call('ZRANGEBYSCORE', active, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_RECOVERED)
if #expired > 0 then
  redis.call('ZREM', active, unpack(expired))
  for i, member in ipairs(expired) do
    expired[i] = string.sub(member, 5)
  end
  for i, last in ipairs(redis.call('HMGET', attempts, unpack(expired))) do
    if last and string.sub(last, 1, 1) == 'A' then
      local attempt, flags, most, at = struct.unpack('>HBH', last, 6)
      local group = string.sub(last, at)
      -- As src/task/stored-error.ts writes it.
      local reason = '\2LeaseLostError ERR_LEASE_LOST\nthe lease ended: the worker died or lost its connection'
      if attempt >= most then
        bury(expired[i], flags, group, attempt, reason)
      else
        putBack(expired[i], flags, group, now, attempt, reason)
      end
    end
  end
  if #changed > 0 then
    redis.call('HSET', attempts, unpack(changed))
  end
  wake(2)
end

-- 2. Retention.
local gone = {}
local surplus = redis.call('LLEN', succeeded) - keepSucceeded
if surplus > 0 then
  gone = redis.call('LPOP', succeeded, math.min(surplus, MOST_REMOVED))
end
for _ = 1, MOST_AGED do
  local oldest = redis.call('LINDEX', succeeded, '0')
  local last = oldest and (redis.call('HGET', attempts, oldest) or compactEnd(oldest))
  if not oldest or last and struct.unpack('>d', last, 2) > now - keepSucceededMs then
    break
  end
  gone[#gone + 1] = redis.call('LPOP', succeeded)
end
surplus = redis.call('ZCARD', dead) - keepDead
if surplus > 0 then
  local oldest = redis.call('ZRANGE', dead, 0, math.min(surplus, MOST_REMOVED) - 1)
  redis.call('ZREM', dead, unpack(oldest))
  for _, id in ipairs(oldest) do
    gone[#gone + 1] = id
  end
end
if #gone > 0 then
  deleteTasks(gone)
end

-- 3. Redis keeps up to 512 short fields of a hash in a plain list and walks it for each task: 10 µs instead of one. A long
-- field converts the hash into a table for good.
local LONG_FIELD = '-----------------------------------------------------------------'
for _, key in ipairs({ attempts, tasks }) do
  if redis.call('OBJECT', 'ENCODING', key) == 'listpack' then
    redis.call('HSET', key, '', LONG_FIELD)
    redis.call('HDEL', key, '')
  end
end

-- 4. Compacting a task costs half as much as running it, and a busy queue soon removes most records. So the caller asks for
-- it in a quiet second.
local PIECE = 20
-- The default retention: 3 ms.
local MOST_COMPACTED = 1000
local MOST_RECORD_BYTES = 256
local MOST_ATTEMPT = 63
local MOST_MS = 4294967295

-- The compact record; nil for a record that must stay as it is. `last` is the entry in attempts: S, f64 instant, u16
-- attempt.
local function compact(record, last)
  local enqueuedAt, endedAt, attempt = struct.unpack('>d', record, 4), struct.unpack('>dH', last, 2)
  local isOfFlow = math.floor(string.byte(record) / 32) % 4 > 0
  local ms = endedAt - enqueuedAt + 65536
  if isOfFlow or attempt > MOST_ATTEMPT or ms < 0 or ms > MOST_MS or ms % 1 > 0 then
    return nil
  end
  return struct.pack('>HBBB', math.floor(ms / 65536), math.floor(ms / 256) % 256, attempt, ms % 256) .. record
end

-- Compacts the records at these places of the list; returns their number. An entry without a result has 11 bytes.
local function compactAll(first, last)
  local ids = redis.call('LRANGE', succeeded, first, last)
  local bare, ends = {}, {}
  for i, value in ipairs(#ids > 0 and redis.call('HMGET', attempts, unpack(ids)) or {}) do
    if value and #value == 11 and redis.call('HSTRLEN', tasks, ids[i]) <= MOST_RECORD_BYTES then
      bare[#bare + 1], ends[#ends + 1] = ids[i], value
    end
  end
  local operands, done = {}, {}
  for i, record in ipairs(#bare > 0 and redis.call('HMGET', tasks, unpack(bare)) or {}) do
    local other = record and compact(record, ends[i])
    if other then
      local size = #done
      done[size + 1] = bare[i]
      operands[2 * size + 1], operands[2 * size + 2] = bare[i], other
    end
  end
  if #done > 0 then
    redis.call('HSET', tasks, unpack(operands))
    redis.call('HDEL', attempts, unpack(done))
  end
  return #done
end

local ready = {}
for i = 1, 3 * priorityCount, 3 do
  ready[#ready + 1] = priorityKeys[i]
end
if compacts and redis.call('EXISTS', unpack(ready)) == 0 then
  -- Backwards from the latest one to the first compact record.
  local upTo = -1
  while upTo >= -MOST_COMPACTED and compactAll(upTo - PIECE + 1, upTo) > 0 do
    upTo = upTo - PIECE
  end
end

local maintenance = 0
if usesOptional then
  placeGroups()
  publishEnds()
  publishEvents()
  local due = redis.call('ZRANGE', dueSchedules, 0, 0, 'WITHSCORES')[2]
  maintenance = (due and tonumber(due) <= now and 1 or 0) + (isOutboxDue() and 2 or 0)
end
return { #expired, maintenance }
