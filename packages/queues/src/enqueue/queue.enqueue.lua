#!lua
-- Stores new tasks. A task without a delay is ready at once, after the ready tasks of its priority or group. A delayed one
-- waits in the schedule of its priority. A stored or refused id is left alone. Wakes an idle worker when a task is ready,
-- and the timekeeper when a task is due earlier than its timer.
--
-- Direct hand-off: when nothing is ahead of a single task, an idle worker gets it with the message that wakes it, which
-- saves a round trip. The task is active as its first attempt, under a lease of that worker. A lost message costs this
-- attempt and the time of the lease; a task with one attempt is never handed off.
--
-- All tasks are one argument: each string costs the client 0.6 µs and the server half of that. For the same reason only the
-- keys of the priorities that occur are sent.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts; written by the first call
--   tasks             HASH id -> record: u8 priority + flags, u16 attempts, f64 enqueued at (ms), then what the client wrote
--   attempts          HASH id -> last attempt; written where a task waits in its group, or is handed off
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms; the settings are
--                     those that it expects, - with lease 0: the worker takes no hand-off
--   timekeeper        STRING "<next due, ms> <member of idle>"
--   places...         two for each of `priorities`: ready LIST, scheduled ZSET; then, with usesOptional, the keys of the optional
--                     features in the order of src/keys.ts; with mode h, the active ZSET, features, the retrying ZSET of the
--                     task's priority, and ready, scheduled and retrying of each higher priority
-- ARGV
--   expectedSettings  the settings that the caller expects; after ; if it has not seen any in Redis
--   publish           PUBLISH or SPUBLISH
--   usesOptional      1: the queue uses optional features; 0
--   mode              h: this is one small task of a plain queue, and a worker seems to be idle; e: the shard is one of an earlier
--                     number of shards, and stores only tasks whose group it has; - otherwise
--   priorities        a byte for each priority of the tasks
--   stamp             the enqueue time in the records, ms: the server's time as the caller estimates it, or 0. If the server's time
--                     differs, the script corrects it
--   delays            f64 the server's time when this was sent, ms, at the latest; then for each delayed task: u16 its place in
--                     `entries`, from 1; f64 the delay, negative ms from then, or a positive instant
--   count             number of tasks, 1,000 at most
--   entries           for each task: u16 length · id, u32 length · record; then for each all-or-none run: u16 first, u16 last,
--                     counted from 1; first + 32,768 if the caller gave ids, which may belong to other tasks
-- RETURNS
--   the server's time, ms, negative if an idle worker was notified: all are stored
--   { outcomes, the server's time }: a character for each task: 1 stored, 0 was stored before, C was stored before with another
--   name or payload, F the queue is full, N not stored since another task of its run was refused, E not stored in a shard of an
--   earlier number
--   error SETTINGS <stored>: other settings are stored; ;: none, the queue was removed. Nothing is written
local settings, tasks, attempts, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local expectedSettings, publish, usesOptional, mode = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]
local priorities, stamp, delays, count, entries = ARGV[5], tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8]), ARGV[9]
local places = { unpack(KEYS, 6) }
-- Their number without those of optional features or of a hand-off.
local PLACES = 2 * #priorities
local isEarlier = mode == 'e'
-- The first byte of a record without flags is smaller.
local FLAGS = 16
-- How far the caller's estimate of the time may be off, ms; the call itself takes time.
local MOST_BEHIND, MOST_AHEAD = 20, 2

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Unpacked in one call, which returns the fields of HSET and the end of the last one.
local fields = { struct.unpack(count == 1 and '>Hc0Ic0' or '>' .. string.rep('Hc0Ic0', count), entries) }
local runsAt = fields[2 * count + 1]
fields[2 * count + 1] = nil
local ids = {}
for i = 1, count do
  ids[i] = fields[2 * i - 1]
end

local isTimely = stamp >= now - MOST_BEHIND and stamp <= now + MOST_AHEAD

local mayHandOff = mode == 'h' and struct.unpack('>H', fields[2], 2) > 1
-- The idle worker that waits longest; only for a hand-off.
local first, leaseMs, theirs, channel, isAlone
if mayHandOff then
  local ready, scheduled, _, features, retrying = unpack(places)
  -- Only the settings exist: nothing of this priority or a higher one is ready or delayed, and no optional feature is used.
  isAlone = redis.call('EXISTS', settings, features, scheduled, retrying, ready, unpack(places, PLACES + 4)) == 1
  if isAlone then
    first = redis.call('ZPOPMIN', idle)
    leaseMs, theirs, channel = string.match(first[1] or '', '^(%d+) (%S+) (.*)$')
    if theirs ~= expectedSettings then
      if first[1] then
        redis.call('ZADD', idle, first[2], first[1])
      end
      first = nil
    end
  end
end

-- Priorities never change, and idle workers are registered with the stored settings. An idle worker with the
-- expected settings proves that they are stored. So the settings are not read.
if not first then
  local stored = redis.call('GET', settings)
  local ofNew = stored ~= expectedSettings and string.match(expectedSettings, '^;(.*)$')
  if ofNew then
    expectedSettings = ofNew
  end
  if stored ~= expectedSettings then
    if stored or not ofNew then
      return redis.error_reply('SETTINGS ' .. (stored or ';'))
    end
    redis.call('SET', settings, expectedSettings)
    if usesOptional then
      redis.call('SET', places[PLACES + 1], '1')
    end
    -- Idle workers that expect other settings call again, and learn these.
    for _, member in ipairs(redis.call('ZRANGE', idle, '0', '999')) do
      local theirs, channelOf = string.match(member, '^%d+ (%S+) (.*)$')
      if theirs ~= '-' and theirs ~= expectedSettings then
        redis.call('ZREM', idle, member)
        redis.call(publish, channelOf, 'w:')
      end
    end
  end
end

if mayHandOff then
  local ready, scheduled, active, _, retrying = unpack(places)
  local id, record, isFirst = fields[1], fields[2], isAlone
  if not isFirst then
    -- Nothing of this priority or a higher one is ready or due.
    local lists, delayed = { ready }, { scheduled, retrying }
    for i = PLACES + 4, PLACES + 3 * (string.byte(priorities) - 48) + 3, 3 do
      lists[#lists + 1] = places[i]
      delayed[#delayed + 1], delayed[#delayed + 2] = places[i + 1], places[i + 2]
    end
    isFirst = redis.call('EXISTS', unpack(lists)) == 0
    local dueUpTo = string.format('%.3f', time[1] * 1000 + time[2] / 1000)
    for _, key in ipairs(delayed) do
      isFirst = isFirst and redis.call('ZCOUNT', key, '-inf', dueUpTo) == 0
    end
  end
  if not isTimely then
    record = string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12)
  end
  if isFirst and redis.call('HSETNX', tasks, id, record) == 1 then
    for _ = 1, 16 do
      if not first then
        first = redis.call('ZPOPMIN', idle)
        if #first == 0 then
          break
        end
        leaseMs, theirs, channel = string.match(first[1], '^(%d+) (%S+) (.*)$')
      end
      -- A worker that subscribes to a replica, or still to a former master, receives messages that PUBLISH does not count.
      -- The next worker would get the task as well. So only a subscriber of this server gets it.
      local isHere = theirs == expectedSettings
        and tonumber(first[2]) >= now
        and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0
      if isHere then
        local nowUs = time[1] * 1000000 + time[2]
        local packedToken = struct.pack('>I', nowUs % 4294967296)
        redis.call('HSET', attempts, id, 'A' .. packedToken .. '\0\1' .. string.sub(record, 1, 3))
        redis.call('ZADD', active, string.format('%.0f', now + leaseMs), packedToken .. id)
        redis.call(publish, channel, 'w:' .. struct.pack('>dHc0', nowUs, #id, id) .. record)
        return -now
      end
      if tonumber(first[2]) >= now and redis.call(publish, channel, 'w:') > 0 then
        redis.call('RPUSH', ready, id)
        return -now
      end
      first = nil
    end
    redis.call('RPUSH', ready, id)
    return now
  end
  if first then
    -- The id was stored before.
    redis.call('ZADD', idle, first[2], first[1])
  end
end

-- include shard.room.part.lua
local known = redis.call('HMGET', tasks, unpack(ids))
local size = redis.call('HLEN', tasks)
local reply, isReady, earliest = now, true, nil
local maxTasks, isPaused, dedupIds, hasDedupIds, keepEvents = MAX_TASKS, false, nil, false, 0
if usesOptional then
  maxTasks = mostTasks(expectedSettings)
  isPaused = string.find(expectedSettings, ';paused=1', 1, true)
  keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
  dedupIds = places[PLACES + 17]
  hasDedupIds = redis.call('EXISTS', dedupIds) == 1
end

-- The common case: all tasks new, ready at once, of one priority, without optional features.
local isPlain = isTimely and #priorities == 1 and delays == '' and not hasDedupIds and keepEvents == 0
  and size + count <= maxTasks and not isEarlier
if isPlain then
  local seen = {}
  for i = 1, count do
    local id = ids[i]
    if known[i] or seen[id] or usesOptional and string.byte(fields[2 * i]) >= FLAGS then
      isPlain = false
      break
    end
    seen[id] = true
  end
end
-- include task.wake.part.lua
-- include shard.time.part.lua
if isPlain then
  local ready = places[1]
  -- The id first: an id without a record is dropped, a record without an id would be lost.
  redis.call('RPUSH', ready, unpack(ids))
  redis.call('HSET', tasks, unpack(fields))
else
-- include task.record.part.lua
  local optional
  if usesOptional then
    local _, _, _, grouped, groups, runnableGroups, limitedGroups = unpack(places, PLACES + 1)
    local events = places[PLACES + 12]
-- include task.group.part.lua
-- include task.events.part.lua
    optional = { joinGroup = joinGroup, recordEvent = recordEvent }

    function optional.hasGroup(group)
      return redis.call('HEXISTS', groups, group) == 1
    end

    function optional.publish()
      placeGroups()
      publishEvents()
    end
  end
-- include task.content.part.lua
-- include task.compact.part.lua

  -- The general case: tasks may be stored or refused, be delayed, or have several priorities or groups.
  local DEDUPLICATED, PRIORITIES = 128, 16
  -- Expired ids that each call deletes.
  local MOST_FORGOTTEN = 200

  local refused = {}
  if hasDedupIds then
    local old = redis.call('ZRANGE', dedupIds, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_FORGOTTEN)
    if #old > 0 then
      redis.call('ZREM', dedupIds, unpack(old))
    end
    -- These ids are still refused, even if their tasks are gone.
    refused = redis.call('ZMSCORE', dedupIds, unpack(ids))
  end

  local enqueuedAt = isTimely and stamp or now
  local packedAt = struct.pack('>d', enqueuedAt)
  local placeOf, dueAt = {}, {}
  for i = 1, #priorities do
    placeOf[string.byte(priorities, i) - 48] = 2 * i - 1
  end
  -- A delay counts from the sending of the task or slightly later, never earlier: the caller sends the latest possible
  -- time. Without a good estimate it counts from now.
  local sentAt = time[1] * 1000 + time[2] / 1000
  if isTimely and delays ~= '' then
    sentAt = math.min(sentAt, (struct.unpack('>d', delays)))
  end
  for at = 9, #delays, 10 do
    local i, due = struct.unpack('>Hd', delays, at)
    if due < 0 then
      -- Rounded up to the µs: whole ms would be half a ms late on average. A delay that has passed goes before tasks
      -- without one.
      dueAt[i] = math.ceil((sentAt - due) * 1000) / 1000
    elseif due > now then
      dueAt[i] = due
    end
  end

  local room = maxTasks - size
  local outcomes, seen, ready, scheduled, written = {}, {}, {}, {}, 0

  -- All-or-none runs by their first task; only those that may be refused.
  local lastOfRun = {}
  for at = runsAt, #entries, 4 do
    local first, last = struct.unpack('>HH', entries, at)
    if first >= 32768 or room < count then
      lastOfRun[first % 32768] = last
    end
  end
  local mayLeaveOut = next(lastOfRun) ~= nil

  -- Leaves out a run when one of its tasks can't be stored, and sets the outcomes of its tasks.
  local function leaveOut(first, last)
    local mine, free, isWhole, found = {}, room, true, {}
    for i = first, last do
      local id, record = ids[i], fields[2 * i]
      local other = seen[id] or mine[id] or known[i] and expandRecord(known[i])
      if other then
        found[i] = contentOf(other) == contentOf(record) and '0' or 'C'
      elseif refused[i] and tonumber(refused[i]) > now then
        found[i] = '0'
      elseif free <= 0 then
        found[i] = 'F'
      else
        found[i] = 'N'
        mine[id] = record
        free = free - 1
      end
      isWhole = isWhole and (found[i] == 'N' or found[i] == '0')
    end
    for i = first, isWhole and 0 or last do
      outcomes[i] = found[i]
    end
  end

  isReady = false
  for i = 1, count do
    local id, record = ids[i], fields[2 * i]
    if mayLeaveOut and lastOfRun[i] then
      leaveOut(i, lastOfRun[i])
    end
    local other = seen[id] or known[i] and expandRecord(known[i])
    if mayLeaveOut and outcomes[i] then
      -- Left out with its run.
      other = nil
    elseif other then
      outcomes[i] = contentOf(other) == contentOf(record) and '0' or 'C'
    elseif refused[i] and tonumber(refused[i]) > now then
      outcomes[i] = '0'
    elseif isEarlier and not (optional and groupOf(record) and optional.hasGroup(groupOf(record))) then
      outcomes[i] = 'E'
    elseif room <= 0 then
      outcomes[i] = 'F'
    else
      outcomes[i] = '1'
      seen[id] = record
      room = room - 1
      if not isTimely then
        record = string.sub(record, 1, 3) .. packedAt .. string.sub(record, 12)
      end
      -- Stored tasks move to the front of `fields`.
      fields[written + 1], fields[written + 2] = id, record
      written = written + 2
      local head, at = string.byte(record), dueAt[i]
      local place, group = placeOf[head % PRIORITIES], groupOf(record)
      if at then
        local operands = scheduled[place] or {}
        scheduled[place] = operands
        operands[#operands + 1] = string.format('%.3f', at)
        operands[#operands + 1] = id
        if at > now then
          earliest = math.min(earliest or at, at)
        else
          isReady = true
        end
      elseif group then
        optional.joinGroup(group, head % PRIORITIES, id, 0)
        isReady = true
      else
        local list = ready[place] or {}
        ready[place] = list
        list[#list + 1] = id
        isReady = true
      end
      if optional then
        if head >= DEDUPLICATED then
          local windowMs = struct.unpack('>d', record, group and 14 + #group or 12)
          redis.call('ZADD', dedupIds, string.format('%.0f', now + windowMs), id)
        end
        optional.recordEvent('E', id, record)
      end
    end
  end
  for place, list in pairs(ready) do
    redis.call('RPUSH', places[place], unpack(list))
  end
  for place, operands in pairs(scheduled) do
    redis.call('ZADD', places[place + 1], unpack(operands))
  end
  if written > 0 then
    redis.call('HSET', tasks, unpack(fields, 1, written))
  end
  if written < 2 * count then
    reply = { table.concat(outcomes), now }
  end
  if optional then
    optional.publish()
  end
end

local isNotified = isReady and not isPaused and wake(1) > 0
if earliest then
  callAt(earliest)
end
return isNotified and reply == now and -now or reply
