#!lua
-- Stores events for tasks, and makes a task due that waits for its event. Needs memory, and refuses events beyond the limits of a task.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt; the data of an R or H begins with \3 while the task waits for the event that follows
--   steps             HASH, see task.steps.part.lua
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   events            STREAM
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   entries...        four for each, 100 at most: id; event; id of the delivery, '' for none; payload
-- RETURNS
--   a string with one character an event: 1 stored, now or before under the same id; 0 the task has ended; - unknown task; N the task has
--   too many events that it has not taken; B too many bytes of them
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, steps, idle, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local expectedSettings, publish = ARGV[1], ARGV[2]
local entries = { unpack(ARGV, 3) }
local priorityKeys = { unpack(KEYS, 7) }
local PRIORITIES, AWAITS = 16, 3
local MOST_EVENTS, MOST_BYTES = 100, 262144
local ENDED = { S = true, D = true, C = true }

-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0

-- include task.wake.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.compact.part.lua

-- Whether the task has this delivery already, taken or not; else also the number of events that it has not taken.
local function look(id, delivery, untaken)
  local count, at = 0, 1
  while at <= #untaken do
    local _, before, _, after = struct.unpack('>Hc0Hc0Ic0', untaken, at)
    if before == delivery and delivery ~= '' then
      return true
    end
    count, at = count + 1, after
  end
  local taken = delivery ~= '' and redis.call('HGET', steps, 'd' .. id) or ''
  at = 1
  while at <= #taken do
    local before, after = struct.unpack('>Hc0', taken, at)
    if before == delivery then
      return true
    end
    at = after
  end
  return false, count
end

local isDue = false

local function deliver(id, event, delivery, payload)
  local record, last = expandRecord(redis.call('HGET', tasks, id), redis.call('HGET', attempts, id))
  if not record then
    return '-'
  end
  local state = last and string.sub(last, 1, 1) or ''
  local untaken = redis.call('HGET', steps, 'e' .. id) or ''
  local isKnown, count = look(id, delivery, untaken)
  if isKnown then
    return '1'
  elseif ENDED[state] then
    return '0'
  end
  local text = struct.pack('>H', #event) .. event .. struct.pack('>H', #delivery) .. delivery .. struct.pack('>I', #payload) .. payload
  if count >= MOST_EVENTS then
    return 'N'
  elseif #untaken + #text > MOST_BYTES then
    return 'B'
  end
  redis.call('HSETNX', steps, 'h' .. id, struct.pack('>HI', 0, 0))
  redis.call('HSET', steps, 'e' .. id, untaken .. text)
  recordEvent('N', id, event)
  if (state == 'R' or state == 'H') and string.byte(last, 12) == AWAITS and string.sub(last, 13) == event then
    local retrying = priorityKeys[3 * (string.byte(record) % PRIORITIES) + 3]
    local at = redis.call('ZSCORE', retrying, id)
    if at and tonumber(at) > now then
      redis.call('ZADD', retrying, now, id)
      isDue = true
    end
  end
  return '1'
end

local replies = {}
for i = 1, #entries, 4 do
  replies[#replies + 1] = deliver(unpack(entries, i, i + 3))
end
publishEvents()
if isDue then
  wake(1)
end
return table.concat(replies)
