#!lua
-- Stores the progress of a job of the BullMQ layer.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   progress          HASH id -> JSON
--   events            STREAM
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   id                as stored
--   value             JSON
--   event             JSON
-- RETURNS
--   1 stored; -1 unknown job
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, progress, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expectedSettings, publish, id, value, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.record.part.lua
-- include task.events.part.lua
if redis.call('HEXISTS', tasks, id) == 0 then
  return -1
end
redis.call('HSET', progress, id, value)
recordEvent('B', id, event)
publishEvents()
return now > 0 and 1
