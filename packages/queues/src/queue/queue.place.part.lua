-- Stores tasks of which some may be stored or remembered already, have to wait, or lie in several priorities or in groups.
-- Expects: everything of the prologue of queue.enqueue.lua, priorityKeys, beyond, runsAt; task.content.part.lua, task.compact.part.lua
-- before it.
local GROUPED, DEDUPLICATED, PRIORITIES = 16, 128, 16
-- How many ids whose time is over are forgotten with each call.
local MOST_FORGOTTEN = 200

local refused = {}
if hasDedupIds then
  local old = redis.call('ZRANGE', dedupIds, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_FORGOTTEN)
  if #old > 0 then
    redis.call('ZREM', dedupIds, unpack(old))
  end
  -- Ids that are refused though their tasks may be gone.
  refused = redis.call('ZMSCORE', dedupIds, unpack(ids))
end

local enqueuedAt = isTimely and stamp or now
local packedAt = struct.pack('>d', enqueuedAt)
local places, dueAt = {}, {}
for i = 1, #priorities do
  places[string.byte(priorities, i) - 48] = 2 * i - 1
end
-- Delays are counted from when the tasks were sent, or a little later, never from before that: by the time at which that was
-- at the latest, unless the caller is wrong about the time, or they have just come.
local sentAt = time[1] * 1000 + time[2] / 1000
if isTimely and delays ~= '' then
  sentAt = math.min(sentAt, (struct.unpack('>d', delays)))
end
for at = 9, #delays, 10 do
  local i, due = struct.unpack('>Hd', delays, at)
  if due < 0 then
    -- To the µs, and up: in whole ms it would be late by half of one. It may be over by now, and goes before those that came
    -- without.
    dueAt[i] = math.ceil((sentAt - due) * 1000) / 1000
  elseif due > now then
    dueAt[i] = due
  end
end

local room = maxTasks - size
local outcomes, seen, ready, scheduled, written = {}, {}, {}, {}, 0

-- Runs of which all are stored or none, by their first tasks; only those that may have to be left out. None of their records
-- has been moved when they are looked at.
local lastOfRun = {}
for at = runsAt, #entries, 4 do
  local first, last = struct.unpack('>HH', entries, at)
  if first >= 32768 or room < count then
    lastOfRun[first % 32768] = last
  end
end
local mayLeaveOut = next(lastOfRun) ~= nil

-- Leaves a run out where one of its tasks cannot be stored: its outcomes are settled then.
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
    -- It is left out with its run.
    other = nil
  elseif other then
    outcomes[i] = contentOf(other) == contentOf(record) and '0' or 'C'
  elseif refused[i] and tonumber(refused[i]) > now then
    outcomes[i] = '0'
  elseif room <= 0 then
    outcomes[i] = 'F'
  else
    outcomes[i] = '1'
    seen[id] = record
    room = room - 1
    if not isTimely then
      record = string.sub(record, 1, 3) .. packedAt .. string.sub(record, 12)
    end
    -- Those that are stored move up to the front.
    fields[written + 1], fields[written + 2] = id, record
    written = written + 2
    local head, at = string.byte(record), dueAt[i]
    local place, isGrouped = places[head % PRIORITIES], math.floor(head / GROUPED) % 2 == 1
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
    elseif isGrouped then
      beyond.joinGroup(struct.unpack('>Hc0', record, 12), head % PRIORITIES, id, 0)
      isReady = true
    else
      local list = ready[place] or {}
      ready[place] = list
      list[#list + 1] = id
      isReady = true
    end
    if beyond then
      if head >= DEDUPLICATED then
        local windowMs = struct.unpack('>d', record, isGrouped and 14 + struct.unpack('>H', record, 12) or 12)
        redis.call('ZADD', dedupIds, string.format('%.0f', now + windowMs), id)
      end
      beyond.recordEvent('E', id, record)
    end
  end
end
for place, list in pairs(ready) do
  redis.call('RPUSH', priorityKeys[place], unpack(list))
end
for place, operands in pairs(scheduled) do
  redis.call('ZADD', priorityKeys[place + 1], unpack(operands))
end
if written > 0 then
  redis.call('HSET', tasks, unpack(fields, 1, written))
end
if written < 2 * count then
  reply = { table.concat(outcomes), now }
end
if beyond then
  beyond.tell()
end
