#!lua
-- Publishes an event of the BullMQ layer.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   events            STREAM
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   id                as stored, or ''
--   event             JSON
-- RETURNS
--   1
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, events = KEYS[1], KEYS[2]
local expectedSettings, publish, id, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.record.part.lua
-- include task.events.part.lua
recordEvent('B', id, event)
publishEvents()
return now > 0 and 1
