#!lua flags=no-writes
-- A page of the tasks in one state. A call reads a bounded number of entries, so a page may have fewer tasks than the limit, or
-- none, and not be the last one. The reply says where the next page begins.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   progress          HASH id -> JSON
--   active            ZSET u32 token · id -> end of the lease, ms
--   succeeded         LIST ids, oldest first
--   dead              ZSET id -> instant of death, ms
--   tombstones        HASH id -> priorities of its tombstones
--   cancelled         ZSET id -> instant of cancellation, ms
--   grouped           ZSET of waiting tasks with a group
--   flows             HASH
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   priorityCount     number of priorities
--   state             scheduled, ready, active, retrying, succeeded, dead, cancelled or waiting
--   limit             tasks, 1 to 1,000
--   name              only tasks with this name; '' for all
--   hasPayloads       0: records end before the payload, and results are left out
--   section           where to continue, from the last reply; 0, '' and '' to begin: the part of the state
--   at                instant, position or cursor in it
--   after             the id or entry after which to continue
-- RETURNS
--   { section, at, after, id, record, last attempt, instant, progress, … }: where to continue, section -1 at the end; then five for
--   each task, '' for absent values; the instant is the end of the lease of an active task or the due time of a scheduled or
--   retrying one
--   error SETTINGS <stored>: other settings are stored
local settings, tasks, attempts, progress, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local dead, tombstones, cancelled, grouped, flows = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local expectedSettings, priorityCount, state, limit, name = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5]
local hasPayloads, section, at, after = ARGV[6] == '1', tonumber(ARGV[7]), ARGV[8], ARGV[9]
local ready, scheduled, retrying = {}, {}, {}
for priority = 0, priorityCount - 1 do
  ready[priority], scheduled[priority], retrying[priority] = unpack(KEYS, 12 + 3 * priority, 14 + 3 * priority)
end
local PRIORITIES, TOKEN_BYTES = 16, 4
-- Entries are read in batches; the one that exceeds this number of entries or bytes is the last one of the call. Records of the
-- largest size would otherwise hold the server for 15 ms each, 50 of them in a batch.
local BATCH = 50
local MOST_SEEN = 1000
local MOST_BYTES = 4194304
-- How far an entry of a list may have moved and still be found.
local REACH = 5000

-- include shard.settings.part.lua
local reply = { -1, '', '' }
local found, seen, bytes = 0, 0, 0

-- include task.record.part.lua
-- include task.compact.part.lua

local function isFull()
  return found >= limit or seen >= MOST_SEEN or bytes >= MOST_BYTES
end

-- Reads at least one entry, to see whether there are more.
local function batchSize()
  return math.max(1, math.min(BATCH, limit - found, MOST_SEEN - seen))
end

local function continueAt(nextAt, nextAfter)
  reply[1], reply[2], reply[3] = section, nextAt, nextAfter
end

-- How many of the first ids can be shown until the call has read too many bytes: at least one.
local function fitting(ids)
  local sum = bytes
  for i, id in ipairs(ids) do
    sum = sum + redis.call('HSTRLEN', tasks, id) + redis.call('HSTRLEN', attempts, id)
    if sum >= MOST_BYTES then
      return i
    end
  end
  return #ids
end

-- Adds the wanted tasks among the first `count` of a batch. `instants` are in the order of the ids; `isTask` returns false for a
-- tombstone.
local function show(ids, count, instants, isTask)
  seen = seen + count
  local records = redis.call('HMGET', tasks, unpack(ids, 1, count))
  local lasts = redis.call('HMGET', attempts, unpack(ids, 1, count))
  local reports = redis.call('HMGET', progress, unpack(ids, 1, count))
  for i, record in ipairs(records) do
    local last
    record, last = expandRecord(record, lasts[i])
    last = last or ''
    if record then
      bytes = bytes + #record + #last
      local own, payloadAt = nameOf(record)
      if (name == '' or name == own) and (not isTask or isTask(ids[i], record, last)) then
        if not hasPayloads then
          record = string.sub(record, 1, payloadAt - 1)
          if string.sub(last, 1, 1) == 'S' then
            last = string.sub(last, 1, 11)
          end
        end
        local size = #reply
        reply[size + 1], reply[size + 2], reply[size + 3] = ids[i], record, last
        reply[size + 4], reply[size + 5] = instants and instants[i] or '', reports[i] or ''
        found = found + 1
      end
    end
  end
end

-- The order of members in Redis, independent of the server's locale.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- The first index in low..high - 1 that is not `before`, or high. All that are come first.
local function bisect(low, high, before)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if before(middle) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Number of members before (instant, id), or with isWithin up to it, whether or not it is still a member.
local function rankOf(key, instant, id, isWithin)
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. instant), redis.call('ZCOUNT', key, '-inf', instant)
  return bisect(low, high, function(index)
    local member = redis.call('ZRANGE', key, index, index)[1]
    return isBefore(member, id) or isWithin and member == id
  end)
end

local function split(pairs)
  local ids, instants = {}, {}
  for i = 1, #pairs, 2 do
    ids[#ids + 1], instants[#instants + 1] = pairs[i], pairs[i + 1]
  end
  return ids, instants
end

local function reversed(ids)
  local backwards = {}
  for i = #ids, 1, -1 do
    backwards[#backwards + 1] = ids[i]
  end
  return backwards
end

-- Members from rank `first` to before rank `beyond`, by instant. An id begins after the first `skipped` bytes of its member.
local function listSet(key, first, beyond, hasInstants, skipped)
  if at ~= '' then
    first = math.max(first, rankOf(key, at, after, true))
  end
  while first < beyond do
    if isFull() then
      return continueAt(at, after)
    end
    local ids, instants = split(redis.call('ZRANGE', key, first, math.min(beyond, first + batchSize()) - 1, 'WITHSCORES'))
    local own = {}
    for i, member in ipairs(ids) do
      own[i] = string.sub(member, (skipped or 0) + 1)
    end
    local count = fitting(own)
    first = first + count
    at, after = instants[count], ids[count]
    show(own, count, hasInstants and instants)
  end
end

-- All members, the latest first.
local function listSetBackwards(key)
  local beyond = at == '' and redis.call('ZCARD', key) or rankOf(key, at, after, false)
  while beyond > 0 do
    if isFull() then
      return continueAt(at, after)
    end
    local first = math.max(0, beyond - batchSize())
    local ids, instants = split(redis.call('ZRANGE', key, first, beyond - 1, 'WITHSCORES'))
    local backwards = reversed(ids)
    local count = fitting(backwards)
    beyond = beyond - count
    at, after = instants[#ids - count + 1], backwards[count]
    show(backwards, count)
  end
end

-- A list, oldest first. It loses its first entries between calls, so the entry at which the last call ended has moved
-- forward. If it is gone, the entries before it are usually gone as well.
local function listReady(priority)
  local key, char = ready[priority], string.char(48 + priority)
  local index = tonumber(at) or 0
  if index > 0 and redis.call('LINDEX', key, index - 1) ~= after then
    local from, place = math.max(0, index - 1 - REACH), 0
    for i, id in ipairs(redis.call('LRANGE', key, from, index - 1)) do
      if id == after then
        place = from + i
        break
      end
    end
    index = place
  end
  local hasTombstones = redis.call('EXISTS', tombstones) == 1
  -- An id with a tombstone may be elsewhere by now. (A removed task that was enqueued again in this priority is also shown
  -- at its tombstone.)
  local function isTask(id, record, last)
    if not hasTombstones or not string.find(redis.call('HGET', tombstones, id) or '', char, 1, true) then
      return true
    end
    return last == '' and string.byte(record) % PRIORITIES == priority and not redis.call('ZSCORE', scheduled[priority], id)
  end
  while true do
    local ids = redis.call('LRANGE', key, index, index + batchSize() - 1)
    if #ids == 0 then
      return
    end
    if isFull() then
      return continueAt(index, after)
    end
    local count = fitting(ids)
    index = index + count
    after = ids[count]
    show(ids, count, nil, isTask)
  end
end

local function listGroups()
  while true do
    local from = after == '' and '-' or '(' .. after
    local entries = redis.call('ZRANGE', grouped, from, '+', 'BYLEX', 'LIMIT', 0, batchSize())
    if #entries == 0 then
      return
    end
    if isFull() then
      return continueAt('', after)
    end
    local ids = {}
    for i, entry in ipairs(entries) do
      ids[i] = string.sub(entry, struct.unpack('>H', entry) + 12)
    end
    local count = fitting(ids)
    after = entries[count]
    show(ids, count)
  end
end

-- When the task at a place of the succeeded list succeeded; nil without an instant.
local function succeededAt(index)
  local id = redis.call('LINDEX', succeeded, index)
  local last = id and (redis.call('HGET', attempts, id) or compactEnd(id))
  return last and #last >= 9 and struct.unpack('>d', last, 2) or nil
end

-- Number of tasks that succeeded before an instant; the list is in the order of their instants.
local function countSucceeded(instant)
  return bisect(0, redis.call('LLEN', succeeded), function(index)
    local one = succeededAt(index)
    return one and one < instant
  end)
end

-- Latest first.
local function listSucceeded()
  local beyond = redis.call('LLEN', succeeded)
  if at ~= '' then
    local instant = tonumber(at)
    local first = countSucceeded(instant)
    beyond = countSucceeded(instant + 1)
    -- If the last task of the previous call is gone, repeats all tasks of its instant.
    for i, id in ipairs(redis.call('LRANGE', succeeded, first, math.min(beyond, first + REACH) - 1)) do
      if id == after then
        beyond = first + i - 1
        break
      end
    end
  end
  while beyond > 0 do
    if isFull() then
      return continueAt(at, after)
    end
    local first = math.max(0, beyond - batchSize())
    local ids = reversed(redis.call('LRANGE', succeeded, first, beyond - 1))
    local count = fitting(ids)
    beyond = beyond - count
    at, after = string.format('%.0f', succeededAt(beyond) or 0), ids[count]
    show(ids, count)
  end
end

-- Parents that wait for their children, in no order. HSCAN may return more than the limit: then the next call repeats its
-- cursor and continues after the shown ones.
local function listWaiting()
  local function isTask(_, _, last)
    return string.sub(last, 1, 1) == 'W'
  end
  local cursor = at == '' and '0' or at
  repeat
    local nextCursor, fields = unpack(redis.call('HSCAN', flows, cursor, 'COUNT', BATCH))
    local ids = split(fields)
    table.sort(ids, isBefore)
    for _, id in ipairs(ids) do
      if after == '' or isBefore(after, id) then
        if isFull() then
          return continueAt(cursor, after)
        end
        show({ id }, 1, nil, isTask)
        after = id
      end
    end
    cursor, after = nextCursor, ''
  until cursor == '0'
end

-- Runs through the sections of a state, each from its start except the one in which the last call ended.
local function inSections(count, list)
  while section < count do
    list(section)
    if reply[1] >= 0 then
      return
    end
    section, at, after = section + 1, '', ''
  end
end

if state == 'scheduled' or state == 'retrying' then
  inSections(priorityCount, function(priority)
    local key = state == 'scheduled' and scheduled[priority] or retrying[priority]
    listSet(key, redis.call('ZCOUNT', key, '-inf', now), redis.call('ZCARD', key), true)
  end)
elseif state == 'ready' then
  inSections(3 * priorityCount + 1, function(part)
    local priority, kind = math.floor(part / 3), part % 3
    if priority == priorityCount then
      listGroups()
    elseif kind == 2 then
      listReady(priority)
    else
      local key = kind == 0 and scheduled[priority] or retrying[priority]
      listSet(key, 0, redis.call('ZCOUNT', key, '-inf', now), false)
    end
  end)
elseif state == 'active' then
  listSet(active, 0, redis.call('ZCARD', active), true, TOKEN_BYTES)
elseif state == 'succeeded' then
  listSucceeded()
elseif state == 'waiting' then
  listWaiting()
else
  listSetBackwards(state == 'dead' and dead or cancelled)
end
return reply
