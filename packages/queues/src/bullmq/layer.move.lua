#!lua
-- Moves a job of the BullMQ layer that isn't active: a finished one back to wait, or one that waits to another place.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   succeeded         LIST ids
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET of idle workers
--   timekeeper        STRING
--   events            STREAM
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   id                as stored
--   from              S succeeded, D dead, R ready or delayed
--   level             the index of its new priority
--   where             see layer.place.part.lua; with = before it: a delayed job stays in its place
--   extras            its new extras, JSON; * leaves them
--   event             JSON, or ''
-- RETURNS
--   1 moved; -1 unknown; -3 it is in another state
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, succeeded, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local idle, timekeeper, events = KEYS[6], KEYS[7], KEYS[8]
local expectedSettings, publish, id, from = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local level, where, extras, event = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
local priorityKeys = { unpack(KEYS, 9) }
-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.wake.part.lua
-- include shard.time.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.compact.part.lua
-- include task.rank.part.lua
-- include layer.place.part.lua

local record, last = redis.call('HGET', tasks, id), nil
if not record then
  return -1
end
record, last = expandRecord(record, redis.call('HGET', attempts, id))
local state = string.sub(last or '', 1, 1)
local delayedKey, delayedAt
if from == 'R' then
  if state ~= '' and state ~= 'R' then
    return -3
  end
  for _, i in ipairs({ 2, 3, 5, 6 }) do
    local at = redis.call('ZSCORE', priorityKeys[i], id)
    if at then
      delayedKey, delayedAt = i, tonumber(at)
    end
  end
  if delayedKey then
    redis.call('ZREM', priorityKeys[delayedKey], id)
  elseif redis.call('LREM', priorityKeys[1], 1, id) + redis.call('LREM', priorityKeys[4], 1, id) == 0 then
    return -3
  end
elseif state ~= from then
  return -3
elseif state == 'S' then
  redis.call('LREM', succeeded, -1, id)
  redis.call('HDEL', attempts, id)
else
  redis.call('ZREM', dead, id)
  redis.call('HDEL', attempts, id)
end
local _, payloadAt, extrasAt = nameOf(record)
if extras == '*' then
  extras = string.sub(record, extrasAt, payloadAt - 1)
end
local head = string.byte(record)
redis.call(
  'HSET',
  tasks,
  id,
  string.char(head - head % 16 + level)
    .. string.sub(record, 2, extrasAt - 3)
    .. struct.pack('>H', #extras)
    .. extras
    .. string.sub(record, payloadAt)
)
local at
local stays = string.sub(where, 1, 1) == '='
if stays and delayedAt and delayedAt > RANKS_END then
  redis.call('ZADD', priorityKeys[3 * level + (delayedKey - 1) % 3 + 1], string.format('%.3f', delayedAt), id)
else
  at = place(id, stays and string.sub(where, 2) or where)
end
if event ~= '' then
  recordEvent('B', id, event)
  publishEvents()
end
if at and at > now then
  callAt(at)
else
  wake(1)
end
return 1
