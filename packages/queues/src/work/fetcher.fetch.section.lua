-- Fetches tasks of any queue: in each priority first due tasks by due time, then groups and ready tasks in turn. Expects:
-- the prologue of fetcher.fetch-and-ack.lua, and its sections before this one.
local GROUPED = 16
-- The first byte of the data of a task that workers without a handler have handed back; see src/task/handed-back.ts.
local HANDED_BACK = 1
local ATTEMPTS = 65536
local firstMarks = {}
local hasGroups = false
if usesOptional then
  hasGroups = optional.placeLimited() or hasDelayed
  want = optional.allowed(want)
end

-- The entry in attempts of an active task; one string for all first attempts of a priority.
local function markOf(attempt, head)
  if attempt > 1 then
    return struct.pack('>c1IH', 'A', token, attempt) .. head
  end
  local mark = firstMarks[head]
  if not mark then
    mark = struct.pack('>c1IH', 'A', token, 1) .. head
    firstMarks[head] = mark
  end
  return mark
end

-- Makes the task active. `last`: its entry in attempts, or nil.
local function give(id, attempt, head, record, last)
  local size, at = 2 * fetched, #reply
  local mark = markOf(attempt, head)
  changed[#changed + 1] = id
  changed[#changed + 1] = mark
  leases[size + 1], leases[size + 2] = leaseUntil, packedToken .. id
  reply[at + 1], reply[at + 2], reply[at + 3] = id, attempt, record
  if last and string.byte(last, 12) == HANDED_BACK then
    reply[at + 2] = attempt + ATTEMPTS * math.max(0, now - (string.match(last, '^%d+', 13) or now))
  end
  fetched = fetched + 1
  bytes = bytes + #record
  if usesOptional then
    optional.recordEvent('A', id, mark)
  end
end

-- Gives ids in order, in batches that double, so that big records end the reply early. Returns the number of used ids. An
-- id without a record belongs to a removed task and is dropped. `dueAt`: for each id its due time, or nil for first
-- attempts. A due task with a group joins its group, unless it holds the group.
local function giveAll(ids, dueAt)
  local from, joined = 1, {}
  while from <= #ids and bytes < MOST_BYTES do
    local upTo = math.min(#ids, math.max(8, 2 * from))
    local records = redis.call('HMGET', tasks, unpack(ids, from, upTo))
    local lasts = dueAt and redis.call('HMGET', attempts, unpack(ids, from, upTo)) or {}
    for i, record in ipairs(records) do
      local id, last, before = ids[from + i - 1], lasts[i], 0
      if record then
        local state
        if last then
          local _
          state, _, before = struct.unpack('>c1dH', last)
        end
        local flags = usesOptional and string.byte(record) or 0
        if fetched >= slots and before + 1 >= struct.unpack('>H', record, 2) then
          -- This task would wait for a slot, so a dying worker could cost its last attempt. The reply ends; more is to be
          -- fetched.
          bytes, upTo = MOST_BYTES, from + i - 2
          break
        end
        if math.floor(flags / GROUPED) % 2 == 0 then
          give(id, before + 1, string.sub(record, 1, 3), record, last)
        else
          local group = struct.unpack('>Hc0', record, 12)
          if state == 'H' then
            give(id, before + 1, string.sub(record, 1, 3) .. group, record, last)
          else
            local mark = last and string.byte(last, 12) == HANDED_BACK and string.sub(last, 12)
            optional.joinGroup(group, flags % PRIORITIES, id, before, dueAt[from + i - 1], mark)
            joined[#joined + 1] = group
          end
        end
      elseif last then
        redis.call('HDEL', attempts, id)
      end
    end
    from = upTo + 1
  end
  -- Placed now, since this call may fetch from these groups; so nobody is woken for them.
  local isPlaced = {}
  for _, group in ipairs(joined) do
    if not isPlaced[group] then
      isPlaced[group] = true
      optional.placeGroup(group, false)
    end
  end
  return from - 1
end

-- To the µs, like the ends of delays.
local dueUpTo = string.format('%.3f', nowUs / 1000)
local scheduledUpTo = dueUpTo
if hasDelayed and string.find(expectedSettings, ';ranked=1', 1, true) then
  local recordEvent = usesOptional and optional.recordEvent or function() end
-- include task.record.part.lua
-- include task.due.part.lua
  scheduledUpTo, afterRanks = RANKS_END, AFTER_RANKS
  -- A worker that stops wants nothing.
  for at = 1, wanted > 0 and 3 * priorityCount or 0, 3 do
    placeDue(priorityKeys[at], priorityKeys[at + 1])
  end
end

-- Fetches due ids from the scheduled and retrying tasks of a priority, merged by due time. In a ranked queue, those of lost leases come
-- before the ranks.
local function fetchDue(scheduled, retrying)
  local most = want - fetched
  local a = redis.call('ZRANGE', scheduled, '-inf', scheduledUpTo, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
  local b = redis.call('ZRANGE', retrying, '-inf', dueUpTo, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
  local i, j, ids, isScheduled, dueAt = 1, 1, {}, {}, {}
  while #ids < most and (a[i] or b[j]) do
    local isNext = a[i] and (not b[j] or not afterRanks and tonumber(a[i + 1]) <= tonumber(b[j + 1]))
    local at = #ids + 1
    isScheduled[at] = isNext
    if isNext then
      ids[at], dueAt[at] = a[i], a[i + 1]
      i = i + 2
    else
      ids[at], dueAt[at] = b[j], b[j + 1]
      j = j + 2
    end
  end
  local used, ofSchedule = giveAll(ids, dueAt), 0
  for k = 1, used do
    if isScheduled[k] then
      ofSchedule = ofSchedule + 1
    end
  end
  if ofSchedule > 0 then
    redis.call('ZREMRANGEBYRANK', scheduled, 0, ofSchedule - 1)
  end
  if used > ofSchedule then
    redis.call('ZREMRANGEBYRANK', retrying, 0, used - ofSchedule - 1)
  end
end

local function fetchReady(priority)
  local key, ids, isCut = priorityKeys[3 * priority + 1], nil, false
  if usesOptional then
    ids, isCut = optional.popReady(key, priority, want - fetched)
  else
    ids = redis.call('LPOP', key, want - fetched) or {}
  end
  for i = #ids, giveAll(ids) + 1, -1 do
    redis.call('LPUSH', key, ids[i])
  end
  if isCut then
    -- Ends the reply; more is to be fetched.
    bytes = MOST_BYTES
  end
end

-- One task of each group in turn, up to `most`.
local function fetchGrouped(priority, most)
  while most > 0 and fetched < want and bytes < MOST_BYTES do
    local id, record, before, group, last = optional.nextOfGroups(priority)
    if not id then
      return
    end
    give(id, before + 1, string.sub(record, 1, 3) .. group, record, last)
    most = most - 1
  end
end

for priority = 0, priorityCount - 1 do
  if fetched < want and bytes < MOST_BYTES and hasDelayed then
    fetchDue(priorityKeys[3 * priority + 2], priorityKeys[3 * priority + 3])
  end
  if hasGroups and fetched < want then
    -- Half of the rest for groups and half for tasks without one, or all for the only kind. A worker with one free slot
    -- asks for one task: then the µs of the time decide, like a coin.
    local isBoth = redis.call('EXISTS', priorityKeys[3 * priority + 1]) == 1
    fetchGrouped(priority, isBoth and math.floor((want - fetched + nowUs % 2) / 2) or want)
  end
  if fetched < want and bytes < MOST_BYTES then
    fetchReady(priority)
  end
  if hasGroups and fetched < want then
    fetchGrouped(priority, want)
  end
end
