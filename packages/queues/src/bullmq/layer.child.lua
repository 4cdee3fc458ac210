#!lua
-- Reports to a parent of the BullMQ layer: a new child, or the end of one. The end of the last child makes a waiting parent ready. A
-- report may come twice.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   idle              ZSET of idle workers
--   timekeeper        STRING
--   events            STREAM
--   layerWaiting      ZSET id of a parent -> since when it waits
--   children          HASH key of a child -> p not ended, s its result, f its error, i its ignored error; # -> how many have not ended;
--                     ! -> why the parent is to fail; @ -> place after their ends
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   id                of the parent, as stored
--   child             key of the child
--   outcome           + new; s, f, i and the value; x removed; then F: the parent is to fail, C: it goes on at once
--   value             result or error
--   reason            why the parent is to fail, or ''
--   goesOn            1: the parent does not wait for other children; 0
--   event             of the parent, JSON; that of a delay is made here
-- RETURNS
--   1 changed; 2 changed, and the parent is ready; 0 no such child, or its end was reported; -1 unknown parent
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local events, layerWaiting, children = KEYS[6], KEYS[7], KEYS[8]
local expectedSettings, publish, id, child = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local outcome, value, reason, goesOn, event = ARGV[5], ARGV[6], ARGV[7], ARGV[8] == '1', ARGV[9]
local priorityKeys = { unpack(KEYS, 9) }
-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.wake.part.lua
-- include shard.time.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.rank.part.lua
-- include layer.place.part.lua

if redis.call('HEXISTS', tasks, id) == 0 then
  return -1
end
local before = redis.call('HGET', children, child)
if outcome == '+' then
  if before then
    return 0
  end
  redis.call('HSET', children, child, 'p')
  redis.call('HINCRBY', children, '#', 1)
  return 1
end
if not before or before ~= 'p' and outcome ~= 'x' then
  return 0
end
if outcome == 'x' then
  redis.call('HDEL', children, child)
else
  redis.call('HSET', children, child, outcome .. value)
end
local left = before == 'p' and redis.call('HINCRBY', children, '#', -1) or tonumber(redis.call('HGET', children, '#'))
if reason ~= '' then
  redis.call('HSETNX', children, '!', reason)
end
local isWaiting = string.sub(redis.call('HGET', attempts, id) or '', 1, 1) == 'W'
if not isWaiting or left > 0 and reason == '' and not goesOn then
  return 1
end
local _, attempt = struct.unpack('>dH', redis.call('HGET', attempts, id), 2)
redis.call('ZREM', layerWaiting, id)
if attempt > 0 then
  redis.call('HSET', attempts, id, 'R' .. struct.pack('>dH', now, attempt))
else
  redis.call('HDEL', attempts, id)
end
local where = redis.call('HGET', children, '@') or 'L'
-- A parent that is to fail does not wait for a delay.
if reason ~= '' and string.sub(where, 1, 1) == 'D' then
  local priority = string.match(where, ',(%d+)')
  where = priority and 'P' .. priority or 'L'
end
local at = place(id, where)
recordEvent('B', id, at and string.format('{"event":"delayed","delay":%.0f}', at) or event)
publishEvents()
if at and at > now then
  callAt(at)
else
  wake(1)
end
return 2
