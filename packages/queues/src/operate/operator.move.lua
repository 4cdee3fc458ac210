#!lua flags=allow-oom
-- Moves tasks by their ids: cancels, removes, retries, promotes or reschedules them, or changes their priority. A task is removed from the place of its state, and
-- added to the place of the new one. A worker that runs a cancelled task gets a message; its ack is refused from now on.
--
-- A task in the middle of a long ready list cannot be removed in constant time. It leaves a tombstone, which workers skip.
-- Near both ends of the list its entry is removed, so short-lived tasks leave nothing.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt; C, f64 instant, u16 attempt, reason of a cancelled task
--   active            ZSET u32 token · id -> end of the lease, ms; also the channel on which workers learn of cancellations
--   succeeded         LIST ids
--   dead              ZSET id -> instant of death, ms
--   cancelled         ZSET id -> instant of cancellation, ms
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   tombstones        HASH id -> priorities of its tombstones; a priority -> their number
--   grouped           ZSET of waiting tasks with a group
--   groups            HASH group -> waiting, active, rate
--   runnableGroups    ZSET group that may run -> priority and order
--   limitedGroups     ZSET group over its rate limit -> until
--   progress          HASH id -> JSON
--   logs              HASH id -> lines
--   awaited           ZSET id -> until when a process waits for its end
--   events            STREAM
--   flows             HASH
--   outbox            HASH
--   dedupIds          ZSET id -> until when it is refused
--   dedupKeys         HASH k and a key -> elements and id; i and that id -> the key
--   steps             HASH, see task.steps.part.lua
--   timekeeper        STRING "<next due, ms> <member of idle>"
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   keepCancelled     maximum of cancelled tasks
--   entries...        three for each, 100 at most: id; C cancel, X remove, R retry, P promote, T reschedule, K change the priority;
--                     the reason of a C, the state that an R expects (D, C, or * for any), the instant of a T in ms (negative: so
--                     many ms from now), the place of the new priority of a K, else ''
-- RETURNS
--   a string with one character a task: 1 moved, 0 its state doesn't allow it, A active and not removed, - unknown
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead, cancelled, idle, tombstones = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local grouped, groups, runnableGroups, limitedGroups = KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local progress, logs, awaited, events, flows, outbox = KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18], KEYS[19]
local dedupIds, dedupKeys, steps, timekeeper = KEYS[20], KEYS[21], KEYS[22], KEYS[23]
local expectedSettings, publish, keepCancelled = ARGV[1], ARGV[2], tonumber(ARGV[3])
local entries = { unpack(ARGV, 4) }
local priorityKeys = { unpack(KEYS, 24) }
local PRIORITIES = 16
local ENDED = { S = true, D = true, C = true }

-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
local usesOptional = true

-- include task.wake.part.lua
-- include shard.time.part.lua
-- include task.group.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include task.steps.part.lua
-- include task.delete.part.lua
-- include task.release.part.lua
-- include task.compact.part.lua
-- include task.place.part.lua

local isDue, hasCancelled, nextDue = false, false, math.huge

-- Removes a task from the place of its state, the first character of `last`; '' is a task that never ran.
local function take(id, record, state, last)
  local priority = string.byte(record) % PRIORITIES
  if state == 'S' then
    redis.call('LREM', succeeded, -1, id)
  elseif state == 'D' or state == 'C' then
    redis.call('ZREM', state == 'D' and dead or cancelled, id)
  elseif state == 'A' then
    redis.call('ZREM', active, string.sub(last, 2, 5) .. id)
    releaseGroup(record)
    -- This also frees a place under the limits of the queue.
    hasFreed = true
  elseif state == 'Q' then
    quitGroup(groupOf(record), priority, id, last)
  elseif state ~= 'W' then
    local ready, scheduled, retrying = keysOf(record)
    if redis.call('ZREM', scheduled, id) + redis.call('ZREM', retrying, id) == 0 then
      takeFromList(ready, id, priority)
    elseif state == 'H' then
      releaseGroup(record)
    end
  end
end

-- Makes a delayed task due. Returns whether it was delayed.
local function makeDue(key, id)
  local at = redis.call('ZSCORE', key, id)
  if not at or tonumber(at) <= now then
    return false
  end
  redis.call('ZADD', key, now, id)
  return true
end

local MOVES = {}

function MOVES.C(id, record, state, last, reason)
  if ENDED[state] then
    return '0'
  end
  local attempt = 0
  if state == 'A' then
    attempt = struct.unpack('>H', last, 6)
    local hex = string.gsub(id, '.', function(byte)
      return string.format('%02x', string.byte(byte))
    end)
    redis.call(publish, active, '*:cancel ' .. hex)
  elseif state ~= '' then
    attempt = struct.unpack('>H', last, 10)
  end
  take(id, record, state, last)
  local value = 'C' .. struct.pack('>dH', now, attempt) .. reason
  redis.call('HSET', attempts, id, value)
  redis.call('ZADD', cancelled, now, id)
  recordEnd(id, string.byte(record), value)
  recordEvent('C', id, value)
  hasCancelled = true
  return '1'
end

function MOVES.X(id, record, state, last)
  if state == 'A' then
    return 'A'
  end
  if not ENDED[state] then
    recordEnd(id, string.byte(record), '')
  end
  take(id, record, state, last)
  redis.call('ZREM', dedupIds, id)
  deleteTasks({ id })
  recordEvent('X', id, '')
  return '1'
end

-- A retried task is like a new one. A retrying task is due now; its attempts stay counted.
function MOVES.R(id, record, state, last, expected)
  local _, _, retrying = keysOf(record)
  if (state == 'D' or state == 'C') and (expected == '*' or expected == state) then
    take(id, record, state, last)
    redis.call('HSET', tasks, id, string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12))
    redis.call('HSET', attempts, id, 'R' .. struct.pack('>dH', now, 0) .. (state == 'D' and string.sub(last, 12) or ''))
    redis.call('ZADD', retrying, now, id)
  elseif expected ~= '*' or state ~= 'R' and state ~= 'H' or not makeDue(retrying, id) then
    return '0'
  end
  isDue = true
  recordEvent('Y', id, '')
  return '1'
end

function MOVES.P(id, record)
  local _, scheduled, retrying = keysOf(record)
  if not makeDue(scheduled, id) and not makeDue(retrying, id) then
    return '0'
  end
  isDue = true
  recordEvent('Y', id, '')
  return '1'
end

-- A ready task goes back to where it would have waited. One that was handed back, or holds its group, stays where it is.
function MOVES.T(id, record, state, last, detail)
  local at = tonumber(detail)
  at = math.max(now, at < 0 and now - at or at)
  local _, scheduled, retrying = keysOf(record)
  local key = delayOf(id, scheduled, retrying)
  if not key then
    local isGrouped = state == 'Q' and #last == 11
    if state ~= '' and state ~= 'R' and not isGrouped then
      return '0'
    end
    local attempt = state == '' and 0 or struct.unpack('>H', last, 10)
    take(id, record, state, last)
    if attempt == 0 then
      redis.call('HDEL', attempts, id)
    elseif isGrouped then
      redis.call('HSET', attempts, id, 'R' .. struct.pack('>dH', now, attempt))
    end
    key = attempt == 0 and scheduled or retrying
  end
  redis.call('ZADD', key, at, id)
  isDue = isDue or at == now
  nextDue = math.min(nextDue, at)
  recordEvent(at == now and 'Y' or 'T', id, '')
  return '1'
end

function MOVES.K(id, record, state, last, detail)
  local from, to = string.byte(record) % PRIORITIES, tonumber(detail)
  if ENDED[state] or state == 'A' then
    return '0'
  end
  if from == to then
    return '1'
  end
  local changed = string.char(string.byte(record) - from + to) .. string.sub(record, 2)
  local ready, scheduled, retrying = keysOf(record)
  local newReady, newScheduled, newRetrying = keysOf(changed)
  local key, at = delayOf(id, scheduled, retrying)
  if key then
    redis.call('ZREM', key, id)
    redis.call('ZADD', key == scheduled and newScheduled or newRetrying, at, id)
  elseif state == 'Q' then
    local group = groupOf(record)
    quitGroup(group, from, id, last)
    joinGroup(group, to, id, struct.unpack('>H', last, 10), nil, string.sub(last, 12))
  elseif state ~= 'W' then
    takeFromList(ready, id, from)
    redis.call('RPUSH', newReady, id)
  end
  redis.call('HSET', tasks, id, changed)
  recordEvent('K', id, '')
  return '1'
end

local replies = {}
for i = 1, #entries, 3 do
  local id, move, detail = unpack(entries, i, i + 2)
  local record, last = redis.call('HGET', tasks, id), nil
  if record then
    record, last = expandRecord(record, redis.call('HGET', attempts, id))
    last = last or ''
  end
  replies[#replies + 1] = record and MOVES[move](id, record, string.sub(last, 1, 1), last, detail) or '-'
end
placeGroups()

local surplus = hasCancelled and redis.call('ZCARD', cancelled) - keepCancelled or 0
if surplus > 0 then
  -- A call adds 100 at most; more if the limit was lowered.
  local oldest = redis.call('ZRANGE', cancelled, 0, math.min(surplus, 1000) - 1)
  redis.call('ZREM', cancelled, unpack(oldest))
  deleteTasks(oldest)
end
publishEnds()
publishEvents()
if isDue or hasFreed or #parentNotices > 0 then
  wake(1)
end
if nextDue > now and nextDue < math.huge then
  callAt(nextDue)
end
return table.concat(replies)
