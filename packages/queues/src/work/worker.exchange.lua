#!lua flags=allow-oom
-- The one call of a working worker: says what became of the tasks that it has finished, and takes the next ones.
-- Also puts back what dead workers held, removes what retention no longer covers, and parks the worker when there
-- is nothing to take.
--
-- An ack counts only while the task is active under the same token; otherwise another worker has the task.
-- Within a priority, tasks that have fallen due go first, in the order in which they did, then ready ones in theirs.
-- A token is the server's time in µs, cut to 32 bits, so that an id that is used again gets other ones.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record: u8 priority, u16 most attempts, …; or sealed, and then not in attempts: see src/task/compact-record.ts
--   attempts          HASH id -> last attempt: A u32 token, u16 attempt, u8 priority + flags, u16 most attempts, group while
--                     active, attempt 0 as long as it is handed over and has not begun (see queue.enqueue.lua); then S succeeded,
--                     D dead, R back in its priority, H the same and it holds its group, C cancelled: f64 instant, u16 attempt,
--                     result or error; Q waits in its group: f64 sequence, u16 attempt
--   active            ZSET id -> end of the lease, ms
--   succeeded         LIST ids, oldest first
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET channel of a parked worker -> parked until, ms; expires a minute after the last parking
--   timekeeper        STRING "<next due, ms> <channel>": the parked worker that has set a timer; expires like idle
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET; behind them, for a queue that uses
--                     more than the core, the 16 keys of OPTIONAL in src/keys.ts
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   channel           the channel on which this worker is woken
--   want              tasks to take at most, 0 to 500
--   slots             for so many of these there is a free slot: who gets fewer is parked; 0: the worker is full or leaves. Beyond
--                     these, no task on its last attempt is taken, nor what is behind it
--   leaseMs           ms
--   parkMs            how long the worker may sleep, ms; half a ms more when it may be handed a task (see queue.enqueue.lua)
--   keepSucceeded     count
--   keepSucceededMs   ms
--   keepDead          count
--   isThorough        1: looks for what dead workers held and for what is too old, which need not be done with each call; 0
--   count             of acks, 500 at most
--   acks              for each, no id twice: u16 length · id; u32 length · verdict, u32 token, f64 delay in ms, result or error
--                     verdicts: S succeeded, R retry after the delay, D dead, B back at once, L later (after the delay;
--                     B and L do not count as attempts)
-- RETURNS
--   { settled, sleepUs, nowUs, chores, id, attempt, record, … }: settled has one character an ack, 1 done,
--   0 lease lost, C cancelled; sleepUs until something falls due, 0 when there is more to take already, -1 when another
--   worker keeps the time or the worker is not parked; the server's time in µs, which modulo 2^32 is the token of all
--   tasks taken; 1 when a schedule is due + 2 when the outbox holds something; then three for each task
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead, idle, timekeeper = KEYS[6], KEYS[7], KEYS[8]
local expectedSettings, publish, channel, want, slots = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local leaseMs, parkMs, keepSucceeded = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local keepSucceededMs, keepDead, isThorough = tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11] == '1'
local count, acks = tonumber(ARGV[12]), ARGV[13]
-- 3 does not divide the number of the keys beyond the core.
local usesOptional = (#KEYS - 8) % 3 ~= 0
-- Ready, scheduled and retrying of priority 0 and so on, and what lies beyond the core behind them.
local priorityKeys = { unpack(KEYS, 9) }
local priorityCount = (usesOptional and #priorityKeys - 16 or #priorityKeys) / 3
-- A reply ends with the piece that makes it longer than this.
local MOST_BYTES = 4194304
local MOST_RECOVERED = '100'
local PRIORITIES = 16
-- Redis keeps up to 128 members of a sorted set in a plain list and goes through it for each one that comes: 1.5 µs at
-- 100 of them, 0.25 µs in the skip list that a member of more than 64 bytes brings about. So it does with up to 512 short
-- fields of a hash: 10 µs for one task more or less.
local MANY = 16
local LONG = 64
local LONG_MEMBER = '-----------------------------------------------------------------'

local stored = redis.call('GET', settings)
if stored and stored ~= expectedSettings then
  return redis.error_reply('SETTINGS ' .. stored)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowUs = time[1] * 1000000 + time[2]
local token = nowUs % 4294967296

-- A function costs 0.1 µs when it is made, more for each local that it uses, and also where it is never called: so what
-- nearly all calls do stands in line, and functions are made where they are needed. A number as an argument of a command
-- costs 0.3 µs, twice what its text does.

-- What lies beyond the core.
local beyond, tombstones, grouped, groups, runnableGroups, limitedGroups, rate, progress
local logs, awaited, events, flows, outbox, dueSchedules, keepEvents
if usesOptional then
  local _
  tombstones, _, grouped, groups, runnableGroups, limitedGroups, rate, progress = unpack(priorityKeys, 3 * priorityCount + 1)
  logs, awaited, events, flows, outbox, _, dueSchedules = unpack(priorityKeys, 3 * priorityCount + 9)
  keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
  beyond = {}
-- include task.group.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include flow.due.part.lua
-- include task.delete.part.lua
-- include worker.beyond.part.lua
end

-- 1. Settle, and put back what dead workers held.
-- include worker.settle.part.lua
if #left > 0 then
  redis.call('ZREM', active, unpack(left))
end
local expired = isThorough
    and redis.call('ZRANGEBYSCORE', active, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_RECOVERED)
  or {}
if #setAside > 0 or #expired > 0 then
-- include worker.return.part.lua
end

-- 2. Take, as far as the limits allow. What isn't allowed now doesn't keep the worker from parking.
local delayed = {}
for i = 2, 3 * priorityCount, 3 do
  delayed[#delayed + 1], delayed[#delayed + 2] = priorityKeys[i], priorityKeys[i + 1]
end
local hasDelayed = redis.call('EXISTS', unpack(delayed)) > 0
if hasDelayed and #changed > 0 then
  -- Some of it may be taken again at once.
  redis.call('HSET', attempts, unpack(changed))
  changed = {}
end
local reply = { #settled == 1 and settled[1] or table.concat(settled), -1, nowUs, 0 }
local wanted, isBlocked, rateFreeAt = want, false, math.huge
local taken, bytes, leases = 0, 0, {}
local leaseUntil = string.format('%.0f', now + leaseMs)
if hasDelayed or usesOptional then
-- include worker.take.part.lua
else
-- include worker.pop.part.lua
end
if #changed > 0 then
  redis.call('HSET', attempts, unpack(changed))
end
if isThorough and taken > 0 then
  redis.call('HSET', attempts, '', LONG_MEMBER)
  redis.call('HDEL', attempts, '')
  if bytes <= LONG * taken then
    redis.call('HSET', tasks, '', LONG_MEMBER)
    redis.call('HDEL', tasks, '')
  end
end
if taken >= MANY then
  redis.call('ZADD', active, '0', LONG_MEMBER, unpack(leases))
  redis.call('ZREM', active, LONG_MEMBER)
elseif taken > 0 then
  redis.call('ZADD', active, unpack(leases))
end
if usesOptional then
  isBlocked = want < wanted and taken == want
  rateFreeAt = beyond.started(taken, isBlocked)
end

-- 3. Retention.
local endOf
if isThorough then
-- include task.compact.part.lua
  endOf = compactEnd
end
-- include worker.retain.part.lua
if isThorough and taken == 0 and isKept then
-- include worker.seal.part.lua
end

-- 4. Who waits, and who keeps the time. Where nobody is parked a worker that is full has nobody to tell, and who parks next
-- sees that an old timekeeper is not parked.
local parks = taken < slots and bytes < MOST_BYTES
if parks or redis.call('EXISTS', idle) == 1 then
-- include task.wake.part.lua
-- include worker.park.part.lua
end
if bytes >= MOST_BYTES then
  reply[2] = 0
end

-- 5. Tell.
if usesOptional then
  reply[4] = beyond.tell()
end
return reply
