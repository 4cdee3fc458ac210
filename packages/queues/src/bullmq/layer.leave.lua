#!lua
-- Moves an active job of the BullMQ layer back, without an end of its attempt: to wait, for a delay, or for its children.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   active            ZSET u32 token · id -> end of the lease, ms
--   idle              ZSET of idle workers
--   timekeeper        STRING
--   events            STREAM
--   layerWaiting      ZSET id of a parent -> since when it waits
--   children          HASH key of a child -> its end; # -> how many have not ended
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   id                as stored
--   token             of the lease
--   where             see layer.place.part.lua; with W before it: after the ends of its children
--   extras            its new extras, JSON
--   event             JSON
-- RETURNS
--   1 moved; 0 all its children have ended; -1 it is unknown; -2 the lease is over; -3 it is not active
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, active, idle = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local timekeeper, events, layerWaiting, children = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local expectedSettings, publish, id, token = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local where, extras, event = ARGV[5], ARGV[6], ARGV[7]
local priorityKeys = { unpack(KEYS, 10) }
-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.wake.part.lua
-- include shard.time.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.due.part.lua
-- include layer.place.part.lua

local record, last = redis.call('HGET', tasks, id), redis.call('HGET', attempts, id)
if not record then
  return -1
end
if string.sub(last or '', 1, 1) ~= 'A' then
  return -3
end
local held = struct.unpack('>I', last, 2)
if held ~= token then
  return -2
end
local isWaiting = string.sub(where, 1, 1) == 'W'
if isWaiting and tonumber(redis.call('HGET', children, '#') or 0) == 0 then
  return 0
end
redis.call('ZREM', active, struct.pack('>I', held) .. id)
local _, payloadAt, extrasAt = nameOf(record)
redis.call(
  'HSET',
  tasks,
  id,
  string.sub(record, 1, extrasAt - 3) .. struct.pack('>H', #extras) .. extras .. string.sub(record, payloadAt)
)
local at
if isWaiting then
  redis.call('HSET', attempts, id, 'W' .. struct.pack('>dH', now, 0))
  redis.call('ZADD', layerWaiting, now, id)
  redis.call('HSET', children, '@', string.sub(where, 2))
else
  redis.call('HSET', attempts, id, 'R' .. struct.pack('>dH', now, 0))
  -- They were due before.
  placeDue(priorityKeys[1], priorityKeys[2])
  placeDue(priorityKeys[4], priorityKeys[5])
  at = place(id, where)
end
recordEvent('B', id, event)
publishEvents()
if at and at > now then
  callAt(at)
else
  wake(1)
end
return 1
