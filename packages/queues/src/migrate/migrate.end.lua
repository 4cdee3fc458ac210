#!lua flags=allow-oom
-- Gives a task the end that its job had in another library. It was stored with a delay, so that no worker ran it. Workers
-- apply the retention with their next call.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt; S or D, f64 instant, u16 attempt, result or error
--   succeeded         LIST ids
--   dead              ZSET id -> instant of death, ms
--   awaited           ZSET id -> until when a process waits for its end
--   events            STREAM
--   flows             HASH, see flow.open.lua
--   outbox            HASH, see flow.open.lua
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   id                of the task
--   state             S succeeded, D dead
--   detail            the JSON of the result, or the error as src/task/stored-error.ts has it
-- RETURNS
--   1 done, 0 it does not wait for its time, nil unknown
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, succeeded, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local awaited, events, flows, outbox = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local expectedSettings, publish, id, state, detail = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local priorityKeys = { unpack(KEYS, 10) }
local usesOptional = true
local PRIORITIES = 16

-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0

-- include task.record.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua

local record = redis.call('HGET', tasks, id)
if not record then
  return nil
end
local scheduled = priorityKeys[3 * (string.byte(record) % PRIORITIES) + 2]
if redis.call('ZREM', scheduled, id) == 0 then
  return 0
end
local value = state .. struct.pack('>dH', now, 1) .. detail
redis.call('HSET', attempts, id, value)
if state == 'D' then
  redis.call('ZADD', dead, now, id)
else
  redis.call('RPUSH', succeeded, id)
end
recordEnd(id, string.byte(record), value)
recordEvent(state, id, value)
publishEnds()
publishEvents()
return 1
