-- Takes tasks: in each priority those that have fallen due, in the order in which they did, then groups and ready tasks in turn.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.
local GROUPED = 16
local firstMarks = {}
local hasGroups = false
if usesOptional then
  hasGroups = beyond.placeRested() or hasDelayed
  want = beyond.allowed(want)
end

-- What stands in attempts while a task is active; one string for all first attempts of a priority.
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

-- The task is active from now on.
local function give(id, attempt, head, record)
  local size, at = 2 * taken, #reply
  local mark = markOf(attempt, head)
  changed[#changed + 1] = id
  changed[#changed + 1] = mark
  leases[size + 1], leases[size + 2] = leaseUntil, id
  reply[at + 1], reply[at + 2], reply[at + 3] = id, attempt, record
  taken = taken + 1
  bytes = bytes + #record
  if usesOptional then
    beyond.recordEvent('A', id, mark)
  end
end

-- Hands out ids, the first one first, in pieces that double, so that big records end it early. Returns how many ids it
-- got through. An id without a record is dropped: somebody has deleted it. `dueAt`: for each id when it fell due, or nil for
-- first attempts. A task with a group that has fallen due waits for the turn of its group, unless it holds that.
local function hand(ids, dueAt)
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
        if taken >= slots and before + 1 >= struct.unpack('>H', record, 2) then
          -- Nobody may die of having waited for a slot: the reply ends here, and there is more to take.
          bytes, upTo = MOST_BYTES, from + i - 2
          break
        end
        if math.floor(flags / GROUPED) % 2 == 0 then
          give(id, before + 1, string.sub(record, 1, 3), record)
        else
          local group = struct.unpack('>Hc0', record, 12)
          if state == 'H' then
            give(id, before + 1, string.sub(record, 1, 3) .. group, record)
          else
            beyond.joinGroup(group, flags % PRIORITIES, id, before, dueAt[from + i - 1])
            joined[#joined + 1] = group
          end
        end
      elseif last then
        redis.call('HDEL', attempts, id)
      end
    end
    from = upTo + 1
  end
  -- Now, since it may be their turn in this call: nobody is woken for them.
  local isPlaced = {}
  for _, group in ipairs(joined) do
    if not isPlaced[group] then
      isPlaced[group] = true
      beyond.placeGroup(group, false)
    end
  end
  return from - 1
end

-- To the µs, as delays end.
local dueUpTo = string.format('%.3f', nowUs / 1000)
-- Takes due ids from the schedule and the retries of a priority, merged by the instant at which they fell due.
local function takeDue(scheduled, retrying)
  local most = want - taken
  local a = redis.call('ZRANGE', scheduled, '-inf', dueUpTo, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
  local b = redis.call('ZRANGE', retrying, '-inf', dueUpTo, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
  local i, j, ids, isScheduled, dueAt = 1, 1, {}, {}, {}
  while #ids < most and (a[i] or b[j]) do
    local isNext = a[i] and (not b[j] or tonumber(a[i + 1]) <= tonumber(b[j + 1]))
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
  local used, ofSchedule = hand(ids, dueAt), 0
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

local function takeReady(priority)
  local key, ids, isCut = priorityKeys[3 * priority + 1], nil, false
  if usesOptional then
    ids, isCut = beyond.popReady(key, priority, want - taken)
  else
    ids = redis.call('LPOP', key, want - taken) or {}
  end
  for i = #ids, hand(ids) + 1, -1 do
    redis.call('LPUSH', key, ids[i])
  end
  if isCut then
    -- The reply ends here, and there is more to take.
    bytes = MOST_BYTES
  end
end

-- One task of each group whose turn it is, until there are `most`.
local function takeGrouped(priority, most)
  while most > 0 and taken < want and bytes < MOST_BYTES do
    local id, record, before, group = beyond.nextOfGroups(priority)
    if not id then
      return
    end
    give(id, before + 1, string.sub(record, 1, 3) .. group, record)
    most = most - 1
  end
end

local function takeLane(priority)
  if taken < want and bytes < MOST_BYTES and hasDelayed then
    takeDue(priorityKeys[3 * priority + 2], priorityKeys[3 * priority + 3])
  end
  if hasGroups and taken < want then
    -- Of what is left, half for the groups and half for the others, or all for the ones where there are none of the others.
    -- A worker that has one free slot at a time asks for one task: the µs decide whose it is, as a coin would.
    local isBoth = redis.call('EXISTS', priorityKeys[3 * priority + 1]) == 1
    takeGrouped(priority, isBoth and math.floor((want - taken + nowUs % 2) / 2) or want)
  end
  if taken < want and bytes < MOST_BYTES then
    takeReady(priority)
  end
  if hasGroups and taken < want then
    takeGrouped(priority, want)
  end
end

for priority = 0, priorityCount - 1 do
  if taken < want then
    takeLane(priority)
  end
end
