#!lua flags=allow-oom
-- The one call of a fetcher: acks ended attempts, fetches the next tasks, and registers the worker as idle if it gets fewer
-- tasks than it has free slots. Work that not every call needs is in maintainer.maintain.lua.
--
-- An ack counts only while the task is active under the same token; otherwise another worker has the task. Within a
-- priority, due tasks come first, by due time, then ready tasks in their order. A token is the server's time in µs, cut to
-- 32 bits, so a reused id gets another one. tooling/models/task-lease.pml is a model of leases.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record: u8 priority, u16 attempts, …; or a compact record, and then not in attempts: see src/task/compact-record.ts
--   attempts          HASH id -> last attempt: A u32 token, u16 attempt, u8 priority + flags, u16 most attempts, group while active; then
--                     S succeeded, D dead, R back in its priority, H the same and it holds its group, C cancelled: f64 instant,
--                     u16 attempt, result or error; Q waits in its group: f64 sequence, u16 attempt. The data of R, H and Q may be
--                     that of a handed-back task: see src/task/handed-back.ts; that of R and H also \3 and the event for which the
--                     task waits
--   active            ZSET u32 token · id -> end of the lease, ms
--   succeeded         LIST ids, oldest first
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms; the lease is that of a task
--                     that the enqueue script may hand to it, 0 for none; expires a minute after a worker was last the timekeeper
--   timekeeper        STRING "<next due, ms> <member of idle>": the idle worker that has set a timer; expires like idle
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET; then features; then, with usesOptional,
--                     the other keys of the optional features in the order of src/keys.ts
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   priorityCount     number of priorities
--   usesOptional      1: the queue uses optional features; 0
--   member            this worker as a member of idle
--   want              tasks to fetch at most, 0 to 500
--   slots             free slots; further tasks wait in the worker, so a task on its last attempt, and all after it, stay here.
--                     0: the worker is full, pauses or stops
--   leaseMs           of the fetched tasks
--   idleMs            how long the worker may stay idle without another call
--   recheckMs         after this, one of several idle workers looks whether the timekeeper has died
--   keepsTime         1: find the next due time, and become the timekeeper if there is none; 0: only for delayed tasks; 2: as 1, but
--                     another idle worker goes before
--   keepSucceeded     count
--   keepDead          count
--   count             number of acks, 500 at most
--   acks              for each, no id twice: u16 length · id; u32 length · verdict, u32 token, u16 attempt, f64 delay in ms, result or
--                     error; attempt 0: the caller does not know it
--                     verdicts: S succeeded, R retry after the delay, D dead, B back at once, L later (after the delay), E at
--                     the instant in place of the delay, or when the event of \3 and its name comes; B, L and E do not count as attempts
-- RETURNS
--   { answers, sleepUs, nowUs, maintenance, id, attempt, record, … }
--   answers: one character an ack, 1 done, 0 lease lost, C cancelled
--   sleepUs: the time to the next call; 0 when there is more to fetch, -1 when this worker is not idle, -2 when the script did
--   not look. Below -2: nothing is due, and the worker looks again after that time or a little earlier
--   nowUs: the server's time in µs; modulo 2^32 it is the token of all fetched tasks
--   maintenance that is due: 1 a schedule + 2 the outbox + 4 a lease has ended
--   then three values for each fetched task; attempt: the number of the attempt + 65,536 times the ms since a worker first had no
--   handler for the task
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead, idle, timekeeper = KEYS[6], KEYS[7], KEYS[8]
local expectedSettings, publish, priorityCount, usesOptional = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local member, want, slots, leaseMs = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local idleMs, recheckMs, keepsTime, keepSucceeded = tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11], tonumber(ARGV[12])
local keepDead, count, acks = tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15]
local priorityKeys = { unpack(KEYS, 9) }
-- The element that exceeds this size is the last one of the reply.
local MOST_BYTES = 4194304
local PRIORITIES = 16
local SUCCEEDED = string.byte('S')
-- Redis keeps up to 128 members of a sorted set in a plain list and walks it for each new member: 1.5 µs at 100 members,
-- 0.25 µs in a skip list. A member of more than 64 bytes forces a skip list.
local MANY = 16
local LONG_MEMBER = '-----------------------------------------------------------------'

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowUs = time[1] * 1000000 + time[2]
local token = nowUs % 4294967296
local packedToken = struct.pack('>I', token)

-- ---- The acks, and the settings ------------------------------------------------------------------------------------------------

-- Operands of HSET: new values in attempts.
local changed, ids, acksOf, members = {}, {}, {}, {}
local isKept = keepSucceeded > 0
-- Whether all have succeeded in a plain queue, so that nothing but the token decides.
local isSimple = count > 0 and not usesOptional
if count > 0 then
  local packed = { struct.unpack(count == 1 and '>Hc0Ic0' or '>' .. string.rep('Hc0Ic0', count), acks) }
  -- Neighbours often differ in their id only (fetched by one call, without a result); they are not unpacked again.
  local ackBefore, ackToken, success
  local packedNow = struct.pack('>d', now)
  for i = 1, count do
    local id, ack = packed[2 * i - 1], packed[2 * i]
    if ack ~= ackBefore then
      local attempt = string.sub(ack, 6, 7)
      ackBefore, ackToken = ack, string.sub(ack, 2, 5)
      isSimple = isSimple and string.byte(ack) == SUCCEEDED and attempt ~= '\0\0'
      success = 'S' .. packedNow .. attempt .. string.sub(ack, 16)
    end
    ids[i], acksOf[i], members[i] = id, ack, ackToken .. id
    if isKept then
      changed[2 * i - 1], changed[2 * i] = id, success
    end
  end
end
local hasWork = nil
if isSimple then
  hasWork = redis.call('EXISTS', unpack(priorityKeys, 1, 3 * priorityCount + 1)) > 0
end
-- Priorities never change, and the number of shards doesn't matter to a task that is fetched. So without features the settings are the expected ones, under which these tasks were
-- fetched.
if hasWork ~= false then
  local stored = redis.call('GET', settings)
  if stored and stored ~= expectedSettings then
    return redis.error_reply('SETTINGS ' .. stored)
  end
end

-- Creating a function costs 0.1 µs, more for each local that it uses, even if it is never called. So the code of nearly all
-- calls is inline. A number as an argument of a command costs 0.3 µs, twice as much as a string.

-- ---- Optional features -------------------------------------------------------------------------------------------------------

local optional, tombstones, grouped, groups, runnableGroups, limitedGroups, rate, progress
local logs, awaited, events, flows, outbox, dueSchedules, dedupKeys, steps, keepEvents
if usesOptional then
  local _
  tombstones, _, grouped, groups, runnableGroups, limitedGroups, rate, progress = unpack(priorityKeys, 3 * priorityCount + 2)
  logs, awaited, events, flows, outbox, _, dueSchedules, _, dedupKeys, steps = unpack(priorityKeys, 3 * priorityCount + 10)
  keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.group.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include flow.due.part.lua
-- include task.steps.part.lua
-- include task.delete.part.lua
-- include fetcher.optional.section.lua
end

-- ---- Ack ---------------------------------------------------------------------------------------------------------------------

local answers, left, finished, unsuccessful, hasDied = {}, {}, {}, {}, false
if count > 0 then
  -- Only a task that is active under its token is a member.
  if isSimple and redis.call('ZREM', active, unpack(members)) == count then
    answers[1] = string.rep('1', count)
    finished, count = ids, 0
  else
    changed = {}
  end
  local lasts = count > 0 and redis.call('HMGET', attempts, unpack(ids))
  local ackBefore, lastBefore, verdict, given, delay, data
  local state, held, attempt, flags, most, group, success
  for i = 1, count do
    local id, ack, last = ids[i], acksOf[i], lasts[i]
    if ack ~= ackBefore or last ~= lastBefore then
      local at, _
      verdict, given, _, delay, at = struct.unpack('>c1IHd', ack)
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
      left[#left + 1] = members[i]
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
    elseif state == verdict and string.sub(last, 10, 11) == string.sub(ack, 6, 7) then
      -- This ack was executed before, and its reply was lost.
      answers[i] = '1'
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
-- Tasks that go back at once keep their order: each gets an instant of its own, in µs, and none in the future.
  local backAt = now - 2 + time[2] % 1000 / 1000
  for i, one in ipairs(unsuccessful) do
    local id, flags, group, attempt, verdict, delay, reason = unpack(one)
    if verdict == 'D' then
      bury(id, flags, group, attempt, reason)
    else
      local at = verdict == 'B' and delay == 0 and backAt + i / 1000 or now + delay
      if verdict == 'E' then
        -- The event may have come since the task has registered its wait. A sleep has none.
-- include task.event.part.lua
        local untaken = optional and redis.call('HGET', steps, 'e' .. id) or ''
        at = findEvent(untaken, string.sub(reason, 2)) and now or math.max(now, delay)
      end
      putBack(id, flags, group, at, verdict == 'R' and attempt or attempt - 1, reason)
    end
  end
end

-- ---- Fetch -------------------------------------------------------------------------------------------------------------------

local reply = { #answers == 1 and answers[1] or table.concat(answers), -1, nowUs, 0 }
local wanted, isBlocked, rateFreeAt = want, false, math.huge
local fetched, bytes, leases = 0, 0, {}
local leaseUntil = string.format('%.0f', now + leaseMs)
if hasWork == nil then
  hasWork = usesOptional or redis.call('EXISTS', unpack(priorityKeys, 1, 3 * priorityCount)) > 0
end
local hasDelayed = false
-- In a ranked queue: the end of the ranks, see task.rank.part.lua.
local afterRanks = nil
if hasWork then
  local delayed = {}
  for i = 2, 3 * priorityCount, 3 do
    delayed[#delayed + 1], delayed[#delayed + 2] = priorityKeys[i], priorityKeys[i + 1]
  end
  hasDelayed = redis.call('EXISTS', unpack(delayed)) > 0
end
if hasDelayed and #changed > 0 then
  -- Before the fetch, which may return some of these tasks.
  redis.call('HSET', attempts, unpack(changed))
  changed = {}
end

if hasDelayed or usesOptional then
-- include fetcher.fetch.section.lua
elseif hasWork then
  -- The short path, without delayed tasks and optional features: ready tasks by priority.
  local priority, headBefore, mark, isOnly = 1, nil, nil, false
  while fetched < want and bytes < MOST_BYTES and priority <= 3 * priorityCount do
    local ready, ids = priorityKeys[priority], nil
    priority = priority + 3
    if want == 1 then
      ids = { redis.call('LPOP', ready) or nil }
    else
      ids = redis.call('LPOP', ready, want - fetched) or {}
    end
    -- In batches that double, as above.
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
          leases[lease + 1], leases[lease + 2] = leaseUntil, packedToken .. id
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

-- The oldest are removed together, an eighth of the kept ones or 64 at a time; one by one would cost three commands a task.
local gone = isKept and {} or finished
if isKept and #finished > 0 then
  local surplus = redis.call('RPUSH', succeeded, unpack(finished)) - keepSucceeded
  local atOnce = math.max(1, math.min(64, math.floor(keepSucceeded / 8)))
  if surplus >= atOnce then
    -- Removes more than this call has added, in case the limit was lowered.
    gone = redis.call('LPOP', succeeded, math.min(surplus, 2 * #finished + 72))
  end
end
if hasDied then
  local surplus = redis.call('ZCARD', dead) - keepDead
  if surplus > 0 then
    -- At most 500 have died in this call; more if an operator has lowered the limit.
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

-- ---- Idle workers and the timekeeper ------------------------------------------------------------------------------------------

local isIdle = fetched < slots and bytes < MOST_BYTES
local hasEndedLease = false
if isIdle and keepsTime == '0' and not (hasDelayed or usesOptional) then
  redis.call('ZADD', idle, string.format('%.0f', now + idleMs), member)
  reply[2] = -2
elseif isIdle or redis.call('EXISTS', idle) == 1 then
  -- A full worker notifies nobody while no worker is idle; the next idle worker replaces a timekeeper that is not idle.
-- include task.wake.part.lua
-- include fetcher.idle.section.lua
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
