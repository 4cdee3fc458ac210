#!lua flags=allow-oom
-- The one call of a fetcher: acks the attempts that have ended, fetches the next tasks, and registers the worker as idle when
-- fewer tasks came than it has free slots. What need not happen with each call is in maintainer.maintain.lua.
--
-- An ack counts only while the task is active under the same token; otherwise another worker has the task. Within a priority,
-- due tasks come first, in the order in which they fell due, then ready tasks in theirs. A token is the server's time in µs,
-- cut to 32 bits, so a reused id gets another one.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record: u8 priority, u16 attempts, …; or a compact record, and then not in attempts: see src/task/compact-record.ts
--   attempts          HASH id -> last attempt: A u32 token, u16 attempt, u8 priority + flags, u16 most attempts, group while active; then
--                     S succeeded, D dead, R back in its priority, H the same and it holds its group, C cancelled: f64 instant,
--                     u16 attempt, result or error; Q waits in its group: f64 sequence, u16 attempt
--   active            ZSET id -> end of the lease, ms
--   succeeded         LIST ids, oldest first
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET "<lease, ms> <channel>" of an idle worker -> idle until, ms; the lease is that of a task that the enqueue
--                     script may hand to it, 0 for none; expires a minute after a worker last kept the time
--   timekeeper        STRING "<next due, ms> <member of idle>": the idle worker that has set a timer; expires like idle
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET; then, with usesOptional, the keys of the
--                     optional features in the order of src/keys.ts
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   priorityCount     number of priorities
--   usesOptional      1: the queue uses optional features; 0
--   member            this worker as a member of idle
--   want              tasks to fetch at most, 0 to 500
--   slots             free slots; tasks beyond these wait in the worker, so none on its last attempt comes, nor one after it.
--                     0: the worker is full, pauses or stops
--   leaseMs           of the fetched tasks
--   idleMs            how long the worker may stay idle without another call
--   keepsTime         1: look when something falls due next, and keep the time if nobody does; 0: only for delayed tasks
--   keepSucceeded     count
--   keepDead          count
--   count             of acks, 500 at most
--   acks              for each, no id twice: u16 length · id; u32 length · verdict, u32 token, f64 delay in ms, result or error
--                     verdicts: S succeeded, R retry after the delay, D dead, B back at once, L later (after the delay;
--                     B and L do not count as attempts)
-- RETURNS
--   { answers, sleepUs, nowUs, maintenance, id, attempt, record, … }: one character an ack, 1 done, 0 lease lost, C cancelled;
--   sleepUs           until something falls due, 0 when there is more to fetch, -1 when another worker keeps the time or the worker is
--   not               idle, -2 when nobody looked; the server's time in µs, which modulo 2^32 is the token of all fetched tasks; maintenance
--   to                do: 1 a schedule is due + 2 the outbox holds something + 4 a lease has ended; then three for each task
--   error             SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead, idle, timekeeper = KEYS[6], KEYS[7], KEYS[8]
local expectedSettings, publish, priorityCount, usesOptional = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local member, want, slots, leaseMs = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local idleMs, keepsTime, keepSucceeded = tonumber(ARGV[9]), ARGV[10] == '1', tonumber(ARGV[11])
local keepDead, count, acks = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14]
local priorityKeys = { unpack(KEYS, 9) }
-- A reply ends with the piece that makes it longer than this.
local MOST_BYTES = 4194304
local PRIORITIES = 16
-- Redis keeps up to 128 members of a sorted set in a plain list and walks it for each new member: 1.5 µs at 100 members,
-- 0.25 µs in the skip list that a member of more than 64 bytes brings about.
local MANY = 16
local LONG_MEMBER = '-----------------------------------------------------------------'

local stored = redis.call('GET', settings)
if stored and stored ~= expectedSettings then
  return redis.error_reply('SETTINGS ' .. stored)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowUs = time[1] * 1000000 + time[2]
local token = nowUs % 4294967296

-- Making a function costs 0.1 µs, more for each local that it uses, and also where it is never called. So what nearly all calls
-- do stands in line. A number as an argument of a command costs 0.3 µs, twice what its text does.

-- ---- Optional features -------------------------------------------------------------------------------------------------------

local optional, tombstones, grouped, groups, runnableGroups, limitedGroups, rate, progress
local logs, awaited, events, flows, outbox, dueSchedules, keepEvents
if usesOptional then
  local _
  tombstones, _, grouped, groups, runnableGroups, limitedGroups, rate, progress = unpack(priorityKeys, 3 * priorityCount + 1)
  logs, awaited, events, flows, outbox, _, dueSchedules = unpack(priorityKeys, 3 * priorityCount + 9)
  keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.group.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include flow.due.part.lua
-- include task.delete.part.lua
  optional = { isOrdered = isOrdered, leaveGroup = leaveGroup, joinGroup = joinGroup, placeGroup = placeGroup }
  optional.recordEnd, optional.recordEvent, optional.deleteTasks = recordEnd, recordEvent, deleteTasks
  -- How many tombstones one call removes.
  local MOST_TOMBSTONES = 1000
  local MOST_LIMITED = '100'

  -- Groups whose rate allows another task may run again. Returns whether any group may.
  function optional.placeLimited()
    for _, group in ipairs(redis.call('ZRANGE', limitedGroups, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_LIMITED)) do
      redis.call('ZREM', limitedGroups, group)
      groupState(group)
    end
    placeGroups()
    return redis.call('EXISTS', runnableGroups) == 1
  end

  local rateInterval, rateBurst, usedUntil
  local function saveRate()
    local ms = math.max(1, math.ceil(usedUntil - now))
    redis.call('SET', rate, string.format('%.3f', usedUntil), 'PX', string.format('%.0f', ms))
  end

  -- How many of `want` tasks the limits of the queue allow now.
  function optional.allowed(want)
    if string.find(expectedSettings, ';paused=1', 1, true) then
      want = 0
    end
    local concurrency = tonumber(string.match(expectedSettings, ';conc=(%d+)'))
    if concurrency then
      want = math.max(0, math.min(want, concurrency - redis.call('ZCARD', active)))
    end
    local limit, period, burst = string.match(expectedSettings, ';rate=(%d+)/(%d+)/(%d+)')
    if limit then
      rateInterval, rateBurst = period / limit, tonumber(burst)
      usedUntil = math.max(tonumber(redis.call('GET', rate) or 0), nowUs / 1000)
      local mostUsed = nowUs / 1000 + rateBurst * rateInterval
      if usedUntil > mostUsed then
        -- What was used under another rate must not delay longer than this rate allows.
        usedUntil = mostUsed
        saveRate()
      end
      want = math.min(want, math.floor((nowUs / 1000 - usedUntil) / rateInterval + rateBurst + 0.000001))
    end
    return want
  end

  -- Counts the fetched tasks. Returns when the rate allows more, if the rate is what blocks.
  function optional.started(fetched, isBlocked)
    placeGroups()
    if not rateInterval then
      return math.huge
    end
    usedUntil = usedUntil + fetched * rateInterval
    if fetched > 0 then
      saveRate()
    end
    local freeAt = usedUntil - (rateBurst - 1) * rateInterval
    return isBlocked and freeAt > now and freeAt or math.huge
  end

  local hasTombstones = redis.call('EXISTS', tombstones) == 1

  -- Pops ids of a priority without the entries that a cancellation or removal has voided. Returns the ids, and whether there are
  -- so many tombstones that the next call has to go on.
  function optional.popReady(key, priority, most)
    local char, kept, removed = string.char(48 + priority), {}, 0
    while true do
      local ids = redis.call('LPOP', key, most - #kept) or {}
      if not hasTombstones then
        for _, id in ipairs(ids) do
          kept[#kept + 1] = id
        end
        return kept, false
      end
      if #ids == 0 then
        return kept, false
      end
      -- The same id may come twice: as a tombstone, and as a task that was enqueued later.
      local voids, before = {}, removed
      for i, voided in ipairs(redis.call('HMGET', tombstones, unpack(ids))) do
        voids[ids[i]] = voided
      end
      for _, id in ipairs(ids) do
        local voided = voids[id]
        local at = voided and string.find(voided, char, 1, true)
        if at then
          removed = removed + 1
          voids[id] = string.sub(voided, 1, at - 1) .. string.sub(voided, at + 1)
          if voids[id] == '' then
            redis.call('HDEL', tombstones, id)
          else
            redis.call('HSET', tombstones, id, voids[id])
          end
        else
          kept[#kept + 1] = id
        end
      end
      if removed > before and redis.call('HINCRBY', tombstones, char, before - removed) <= 0 then
        redis.call('HDEL', tombstones, char)
        hasTombstones = redis.call('EXISTS', tombstones) == 1
      end
      if #kept == most then
        return kept, false
      elseif removed >= MOST_TOMBSTONES then
        return kept, true
      end
    end
  end

  -- The next group in this priority gives its first task. Returns its id, its record, its attempts so far, and the group; nil when no
  -- group may run.
  function optional.nextOfGroups(priority)
    while true do
      local first = redis.call('ZRANGE', runnableGroups, 0, 0, 'WITHSCORES')
      if not first[1] or math.floor(first[2] / ORDERS_PER_PRIORITY) ~= priority then
        return nil
      end
      local group = first[1]
      local state, head, id, record, before = groupState(group), headOf(group), nil, nil, 0
      if isGroupLimited(state) then
        -- It was placed under other limits.
        head = nil
      elseif not head then
        state[1] = 0
      else
        id = string.sub(head, #group + 12)
        redis.call('ZREM', grouped, head)
        state[1] = math.max(0, state[1] - 1)
        record = redis.call('HGET', tasks, id)
        local last = redis.call('HGET', attempts, id)
        if last then
          local _
          _, before = struct.unpack('>dH', last, 2)
        end
      end
      if record then
        state[2] = state[2] + 1
        if groupInterval then
          state[3] = math.max(state[3], now) + groupInterval
        end
      end
      placeGroup(group, true)
      if record then
        return id, record, before, group
      end
    end
  end

  -- Publishes what has happened. Returns maintenance to do: 1 a schedule is due + 2 the outbox holds something.
  function optional.publish()
    saveGroupOrder()
    publishEnds()
    publishEvents()
    local due = redis.call('ZRANGE', dueSchedules, 0, 0, 'WITHSCORES')[2]
    return (due and tonumber(due) <= now and 1 or 0) + (isOutboxDue() and 2 or 0)
  end
end

-- ---- Ack ---------------------------------------------------------------------------------------------------------------------

-- Operands of HSET: new values in attempts.
local changed = {}
local answers, left, finished, unsuccessful, hasDied = {}, {}, {}, {}, false
local isKept = keepSucceeded > 0
if count > 0 then
  local packed = { struct.unpack(count == 1 and '>Hc0Ic0' or '>' .. string.rep('Hc0Ic0', count), acks) }
  local ids = {}
  for i = 1, count do
    ids[i] = packed[2 * i - 1]
  end
  local lasts = redis.call('HMGET', attempts, unpack(ids))
  -- Neighbours often differ in their id only (fetched in one call, without a result): these are not unpacked again.
  local ackBefore, lastBefore, verdict, given, delay, data
  local state, held, attempt, flags, most, group, success
  for i = 1, count do
    local id, ack, last = ids[i], packed[2 * i], lasts[i]
    if ack ~= ackBefore or last ~= lastBefore then
      local at
      verdict, given, delay, at = struct.unpack('>c1Id', ack)
      data = string.sub(ack, at)
      state = string.sub(last or '', 1, 1)
      if state == 'A' then
        held, attempt, flags, most, at = struct.unpack('>IHBH', last, 2)
        group = string.sub(last, at)
        success = verdict == 'S' and struct.pack('>c1dH', 'S', now, attempt) .. data
      end
      ackBefore, lastBefore = ack, last
    end
    if state == 'A' and held == given then
      answers[i] = '1'
      left[#left + 1] = id
      if success then
        finished[#finished + 1] = id
        if isKept then
          local size = #changed
          changed[size + 1], changed[size + 2] = id, success
        end
        if optional then
          if group ~= '' then
            optional.leaveGroup(group)
          end
          optional.recordEnd(id, flags, success)
          optional.recordEvent('S', id, success)
        end
      else
        unsuccessful[#unsuccessful + 1] = { id, flags, group, attempt, verdict, delay, data }
      end
    else
      answers[i] = state == 'C' and 'C' or '0'
    end
  end
end
if #left > 0 then
  redis.call('ZREM', active, unpack(left))
end
if #unsuccessful > 0 then
-- include attempt.return.part.lua
  -- What goes back at once keeps its order, whatever the ids are: each has an instant of its own, in µs, and none is in the
  -- future.
  local backAt = now - 2 + time[2] % 1000 / 1000
  for i, one in ipairs(unsuccessful) do
    local id, flags, group, attempt, verdict, delay, reason = unpack(one)
    if verdict == 'D' then
      bury(id, flags, group, attempt, reason)
    else
      local at = verdict == 'B' and delay == 0 and backAt + i / 1000 or now + delay
      putBack(id, flags, group, at, verdict == 'R' and attempt or attempt - 1, reason)
    end
  end
end

-- ---- Fetch -------------------------------------------------------------------------------------------------------------------

local reply = { #answers == 1 and answers[1] or table.concat(answers), -1, nowUs, 0 }
local wanted, isBlocked, rateFreeAt = want, false, math.huge
local fetched, bytes, leases = 0, 0, {}
local leaseUntil = string.format('%.0f', now + leaseMs)
local hasWork = usesOptional or redis.call('EXISTS', unpack(priorityKeys, 1, 3 * priorityCount)) > 0
local hasDelayed = false
if hasWork then
  local delayed = {}
  for i = 2, 3 * priorityCount, 3 do
    delayed[#delayed + 1], delayed[#delayed + 2] = priorityKeys[i], priorityKeys[i + 1]
  end
  hasDelayed = redis.call('EXISTS', unpack(delayed)) > 0
end
if hasDelayed and #changed > 0 then
  -- Some of these may be fetched again at once.
  redis.call('HSET', attempts, unpack(changed))
  changed = {}
end

if hasDelayed or usesOptional then
  -- The general way: in each priority what has fallen due, in that order, then groups and ready tasks in turn.
  local GROUPED = 16
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

  -- The task is active from now on.
  local function give(id, attempt, head, record)
    local size, at = 2 * fetched, #reply
    local mark = markOf(attempt, head)
    changed[#changed + 1] = id
    changed[#changed + 1] = mark
    leases[size + 1], leases[size + 2] = leaseUntil, id
    reply[at + 1], reply[at + 2], reply[at + 3] = id, attempt, record
    fetched = fetched + 1
    bytes = bytes + #record
    if usesOptional then
      optional.recordEvent('A', id, mark)
    end
  end

  -- Gives ids, the first one first, in pieces that double, so that big records end the reply early. Returns how many ids it has
  -- used. An id without a record is dropped: somebody has removed the task. `dueAt`: for each id when it fell due, or nil for
  -- first attempts. A due task with a group joins its group, unless it holds the group.
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
            -- No task dies because it waited for a slot: the reply ends here, and there is more to fetch.
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
              optional.joinGroup(group, flags % PRIORITIES, id, before, dueAt[from + i - 1])
              joined[#joined + 1] = group
            end
          end
        elseif last then
          redis.call('HDEL', attempts, id)
        end
      end
      from = upTo + 1
    end
    -- Now, since this call may fetch from these groups: nobody is woken for them.
    local isPlaced = {}
    for _, group in ipairs(joined) do
      if not isPlaced[group] then
        isPlaced[group] = true
        optional.placeGroup(group, false)
      end
    end
    return from - 1
  end

  -- To the µs, as delays end.
  local dueUpTo = string.format('%.3f', nowUs / 1000)
  -- Fetches due ids from the scheduled and retrying tasks of a priority, merged by the instant at which they fell due.
  local function fetchDue(scheduled, retrying)
    local most = want - fetched
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
      -- The reply ends here, and there is more to fetch.
      bytes = MOST_BYTES
    end
  end

  -- One task of each group in turn, up to `most`.
  local function fetchGrouped(priority, most)
    while most > 0 and fetched < want and bytes < MOST_BYTES do
      local id, record, before, group = optional.nextOfGroups(priority)
      if not id then
        return
      end
      give(id, before + 1, string.sub(record, 1, 3) .. group, record)
      most = most - 1
    end
  end

  for priority = 0, priorityCount - 1 do
    if fetched < want and bytes < MOST_BYTES and hasDelayed then
      fetchDue(priorityKeys[3 * priority + 2], priorityKeys[3 * priority + 3])
    end
    if hasGroups and fetched < want then
      -- Half of what is left for the groups and half for the others, or all for the one where there are none of the other.
      -- A worker with one free slot asks for one task: the µs decide whose it is, as a coin would.
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
elseif hasWork then
  -- The short way, where nothing is delayed and no optional feature is used: ready tasks, those of higher priorities first.
  local priority, headBefore, mark, isOnly = 1, nil, nil, false
  while fetched < want and bytes < MOST_BYTES and priority <= 3 * priorityCount do
    local ready, ids = priorityKeys[priority], nil
    priority = priority + 3
    if want == 1 then
      ids = { redis.call('LPOP', ready) or nil }
    else
      ids = redis.call('LPOP', ready, want - fetched) or {}
    end
    -- In pieces that double, as above.
    local from, most = 1, #ids
    while from <= most and bytes < MOST_BYTES do
      local upTo = math.min(most, math.max(8, 2 * from))
      local records = redis.call('HMGET', tasks, unpack(ids, from, upTo))
      for i = from, upTo do
        local id, record = ids[i], records[i - from + 1]
        if record then
          local head = string.sub(record, 1, 3)
          if head ~= headBefore then
            headBefore, mark = head, struct.pack('>c1IH', 'A', token, 1) .. head
            isOnly = string.sub(head, 2) == '\0\1'
          end
          if isOnly and fetched >= slots then
            bytes, upTo = MOST_BYTES, i - 1
            break
          end
          local change, lease, at = #changed, 2 * fetched, #reply
          changed[change + 1], changed[change + 2] = id, mark
          leases[lease + 1], leases[lease + 2] = leaseUntil, id
          reply[at + 1], reply[at + 2], reply[at + 3] = id, 1, record
          fetched = fetched + 1
          bytes = bytes + #record
        end
      end
      from = upTo + 1
    end
    for i = most, from, -1 do
      redis.call('LPUSH', ready, ids[i])
    end
  end
end
if #changed > 0 then
  redis.call('HSET', attempts, unpack(changed))
end
if fetched >= MANY then
  redis.call('ZADD', active, '0', LONG_MEMBER, unpack(leases))
  redis.call('ZREM', active, LONG_MEMBER)
elseif fetched > 0 then
  redis.call('ZADD', active, unpack(leases))
end
if usesOptional then
  isBlocked = want < wanted and fetched == want
  rateFreeAt = optional.started(fetched, isBlocked)
end

-- ---- Retention by count ------------------------------------------------------------------------------------------------------

-- The oldest are removed together, an eighth of what is kept or 64 at a time: one by one would cost three commands a task.
local gone = isKept and {} or finished
if isKept and #finished > 0 then
  local surplus = redis.call('RPUSH', succeeded, unpack(finished)) - keepSucceeded
  local atOnce = math.max(1, math.min(64, math.floor(keepSucceeded / 8)))
  if surplus >= atOnce then
    -- More than came, where the limit was lowered.
    gone = redis.call('LPOP', succeeded, math.min(surplus, 2 * #finished + 72))
  end
end
if hasDied then
  local surplus = redis.call('ZCARD', dead) - keepDead
  if surplus > 0 then
    -- At most 500 have died here; an operator may have lowered the limit.
    local oldest = redis.call('ZRANGE', dead, 0, math.min(surplus, 1000) - 1)
    redis.call('ZREM', dead, unpack(oldest))
    for _, id in ipairs(oldest) do
      gone[#gone + 1] = id
    end
  end
end
if #gone > 0 then
  if usesOptional then
    optional.deleteTasks(gone)
  else
    redis.call('HDEL', tasks, unpack(gone))
    redis.call('HDEL', attempts, unpack(gone))
  end
end

-- ---- Idle workers, and who keeps the time ------------------------------------------------------------------------------------

local isIdle = fetched < slots and bytes < MOST_BYTES
local hasEndedLease = false
if isIdle and not (keepsTime or hasDelayed or usesOptional) then
  redis.call('ZADD', idle, string.format('%.0f', now + idleMs), member)
  reply[2] = -2
elseif isIdle or redis.call('EXISTS', idle) == 1 then
  -- A full worker has nobody to notify where no worker is idle; the next idle worker sees that an old timekeeper is not idle.
-- include task.wake.part.lua
  local KEPT_MS = '60000'

  -- The next instant at which something can be fetched that cannot be now, or a lease ends; math.huge when there is none.
  local function nextInstant()
    local earliest = math.huge
    local function look(key)
      local first = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')
      local at = tonumber(first[2])
      if at and key == active and at <= now then
        -- The maintainer puts that task back, and wakes a worker.
        hasEndedLease = true
      elseif at then
        earliest = math.min(earliest, at)
      end
    end
    look(active)
    if usesOptional then
      local fires = redis.call('ZRANGE', dueSchedules, 0, 0, 'WITHSCORES')[2]
      -- Due schedules are maintenance: this worker asks again when it has enqueued their tasks.
      if fires and tonumber(fires) > now then
        earliest = math.min(earliest, tonumber(fires))
      end
      earliest = math.min(earliest, rateFreeAt)
      if isBlocked then
        -- What falls due waits for the end of something else, which is a call of another worker.
        return earliest
      end
      look(limitedGroups)
    end
    if hasDelayed then
      for priority = 0, priorityCount - 1 do
        look(priorityKeys[3 * priority + 2])
        look(priorityKeys[3 * priority + 3])
      end
    end
    return earliest
  end

  -- The instant that is timed, and by whom; math.huge and nil when nobody does.
  local function timing()
    local due, keeper = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
    return tonumber(due) or math.huge, keeper
  end

  if isIdle then
    redis.call('ZREMRANGEBYSCORE', idle, '-inf', string.format('%.0f', now))
    redis.call('ZADD', idle, string.format('%.0f', now + idleMs), member)
    redis.call('PEXPIRE', idle, KEPT_MS)
    local nextAt = nextInstant()
    local due, keeper = timing()
    local isTimed = keeper and keeper ~= member and due <= nextAt and redis.call('ZSCORE', idle, keeper)
    if not isTimed and nextAt < math.huge then
      redis.call('SET', timekeeper, string.format('%.3f %s', nextAt, member), 'PX', KEPT_MS)
      reply[2] = nextAt > now and math.max(1, math.ceil(nextAt * 1000 - nowUs)) or 0
    elseif not isTimed and keeper then
      -- The timed instant is past: it must not hide what comes.
      redis.call('DEL', timekeeper)
    end
  else
    -- Full, or leaving: others fetch what is left, and one of them keeps the time.
    redis.call('ZREM', idle, member)
    local nextAt = nextInstant()
    local due, keeper = timing()
    if keeper == member then
      redis.call('DEL', timekeeper)
      due = math.huge
    end
    local hasMore = hasEndedLease
    for priority = 0, isBlocked and -1 or priorityCount - 1 do
      hasMore = hasMore or redis.call('EXISTS', priorityKeys[3 * priority + 1]) == 1
    end
    if usesOptional then
      local fires = redis.call('ZRANGE', dueSchedules, '0', '0', 'WITHSCORES')[2]
      hasMore = hasMore
        or not isBlocked and redis.call('EXISTS', runnableGroups) == 1
        -- A worker that leaves runs no schedules.
        or fires and tonumber(fires) <= now
    end
    if nextAt <= now or hasMore then
      wake(2)
    elseif nextAt < due then
      wake(1)
    end
  end
end
if bytes >= MOST_BYTES then
  reply[2] = 0
end
if usesOptional then
  reply[4] = optional.publish()
end
if hasEndedLease then
  reply[4] = reply[4] + 4
end
return reply
