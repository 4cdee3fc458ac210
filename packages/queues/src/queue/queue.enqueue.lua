#!lua
-- Stores new tasks. A task without a delay is ready at once, behind the ready tasks of its priority, or of its group; a delayed
-- one waits in its priority's schedule. An id that is already stored, or remembered, is left alone. Wakes one parked worker when
-- there is something to run, and the timekeeper when something falls due earlier than it thinks.
--
-- A single task that nothing is ahead of goes to a parked worker along with the message that wakes it, which saves the worker
-- a round trip: it is active under a lease of CLAIM_MS, with attempt 0, until the worker's renewal says that its attempt has
-- begun. A message that is lost costs that time, and no attempt.
--
-- All tasks come in one argument: each string that a client sends costs it 0.6 µs, and the server half of that. For the same
-- reason only the keys of those priorities are sent that the tasks are in.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts; written by the first call
--   tasks             HASH id -> record: u8 priority + flags, u16 attempts, f64 enqueued at (ms), then what the client wrote
--   attempts          HASH id -> last attempt; only where it waits in a group, or is handed over
--   idle              ZSET channel of a parked worker -> parked until, ms; half a ms more where it may be handed a task
--   timekeeper        STRING "<next due, ms> <channel>"
--   places...         two for each of `priorities`: ready LIST, scheduled ZSET; behind them, for a queue that uses more than the
--                     core, the 16 keys of OPTIONAL in src/keys.ts; or, for one task that may be handed over: active, the retrying
--                     ZSET of its priority, then ready, scheduled and retrying of each priority above
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   priorities        a byte for each priority that the tasks are in
--   stamp             the instant that the records name as that of their enqueuing, ms: what the caller takes the server's time to
--                     be, or 0. Where the server's time is another one it is written instead
--   delays            f64 the server's time when this was sent, ms, which it was at most; then for each task that has to wait: u16 its
--                     place in `entries`, from 1; f64 below 0 so many ms from then, above 0 that instant
--   count             how many tasks, 1,000 at most
--   entries           for each task: u16 length · id, u32 length · record; behind them, for each run of tasks of which all are stored
--                     or none: u16 first, u16 last, counted from 1; 32,768 more in the first where ids were given, which may
--                     belong to other tasks
-- RETURNS
--   the server's time, ms, below 0 when a parked worker was told: all are stored
--   { outcomes, the server's time }: a character for each task: 1 stored, 0 was there already, C is there with another name
--   or payload, F the queue is full, N not stored since another one of its run is not
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local expectedSettings, publish, priorities, stamp, delays = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local count, entries = tonumber(ARGV[6]), ARGV[7]
local more = #KEYS - 5 - 2 * #priorities
-- 2, 5, 8 and so on for a task that may be handed over.
local usesOptional, mayHand = more == 16, more % 3 == 2
-- How long a worker may take to say that it has the task.
local CLAIM_MS = 1000
local MAX_TASKS = 10000000
-- The first byte of a record without flags is less.
local FLAGS = 16
-- How far what the caller takes the time to be may be off, ms; a call is some time on its way.
local MOST_BEHIND, MOST_AHEAD = 20, 2

local stored = redis.call('GET', settings)
if stored ~= expectedSettings then
  if stored then
    return redis.error_reply('SETTINGS ' .. stored)
  end
  redis.call('SET', settings, expectedSettings)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Taken apart in one go; what comes out is what HSET wants, and where the last one ends.
local fields = { struct.unpack(count == 1 and '>Hc0Ic0' or '>' .. string.rep('Hc0Ic0', count), entries) }
local runsAt = fields[2 * count + 1]
fields[2 * count + 1] = nil
local ids = {}
for i = 1, count do
  ids[i] = fields[2 * i - 1]
end

local known = redis.call('HMGET', tasks, unpack(ids))
local size = redis.call('HLEN', tasks)
local isTimely = stamp >= now - MOST_BEHIND and stamp <= now + MOST_AHEAD
local reply, isReady, earliest = now, true, nil
local maxTasks, isPaused, dedupIds, hasDedupIds, keepEvents = MAX_TASKS, false, nil, false, 0
if usesOptional then
  maxTasks = tonumber(string.match(expectedSettings, ';max=(%d+)')) or MAX_TASKS
  isPaused = string.find(expectedSettings, ';paused=1', 1, true)
  keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
  dedupIds = KEYS[#KEYS]
  hasDedupIds = redis.call('EXISTS', dedupIds) == 1
end

-- What nearly all calls are: all new, ready at once, in one priority, and nothing to do beyond the core.
local isPlain = isTimely and #priorities == 1 and delays == '' and not hasDedupIds and keepEvents == 0
  and size + count <= maxTasks
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
local isNotified
if isPlain and mayHand then
  local places = { unpack(KEYS, 6) }
-- include queue.hand.part.lua
end
if isNotified then
  -- Its place is with the worker.
  redis.call('HSET', tasks, unpack(fields))
elseif isPlain then
  local ready = unpack(KEYS, 6)
  -- In this order: an id without a record is dropped, a record without a place would be lost.
  redis.call('RPUSH', ready, unpack(ids))
  redis.call('HSET', tasks, unpack(fields))
else
  local priorityKeys, beyond = { unpack(KEYS, 6) }, nil
  if usesOptional then
    local before = #priorityKeys - 16
    local _, _, grouped, groups, runnableGroups, limitedGroups = unpack(priorityKeys, before + 1)
    local events = priorityKeys[before + 11]
-- include task.group.part.lua
-- include task.events.part.lua
    beyond = { joinGroup = joinGroup, recordEvent = recordEvent }

    function beyond.tell()
      placeGroups()
      publishEvents()
    end
  end
-- include task.content.part.lua
-- include task.compact.part.lua
-- include queue.place.part.lua
end

if isReady and not isPaused and isNotified == nil then
  isNotified = wake(1)
end
if earliest then
  local due, channel = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
  if not due or tonumber(due) <= now then
    wake(1)
  elseif earliest < tonumber(due) and redis.call(publish, channel, 'w:') == 0 then
    redis.call('DEL', timekeeper)
    wake(1)
  end
end
return isNotified ~= nil and reply == now and -now or reply
