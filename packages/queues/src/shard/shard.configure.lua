#!lua flags=allow-oom
-- Changes the settings of a shard if the caller expects the stored ones. Wakes all idle workers, which may have work now.
--
-- KEYS
--   settings          STRING
--   features          STRING, exists while the settings are those of a queue with optional features
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   events            STREAM
-- ARGV
--   expectedSettings  the settings that the caller expects
--   wanted            the new settings
--   publish           PUBLISH or SPUBLISH
--   usesOptional      1: the new settings are those of a queue with optional features; 0
-- RETURNS
--   1; 2 if no settings were stored
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, features, idle, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expectedSettings, wanted, publish, usesOptional = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'

local stored = redis.call('GET', settings)
if stored and stored ~= expectedSettings then
  return redis.error_reply('SETTINGS ' .. stored)
end
local keepEvents = tonumber(string.match(wanted, ';events=(%d+)') or 0)

-- include task.record.part.lua
-- include task.events.part.lua

if stored ~= wanted then
  redis.call('SET', settings, wanted)
  if usesOptional then
    redis.call('SET', features, '1')
  else
    redis.call('DEL', features)
  end
  local isPaused = string.find(wanted, ';paused=1', 1, true)
  if not isPaused ~= not string.find(stored or '', ';paused=1', 1, true) then
    recordEvent(isPaused and 'Z' or 'U', '', '')
  end
  publishEvents()
  if keepEvents == 0 and string.find(stored or '', ';events=', 1, true) then
    redis.call('UNLINK', events)
  end
  for _, member in ipairs(redis.call('ZRANGE', idle, '0', '999')) do
    redis.call(publish, string.match(member, '^%S+ %S+ (.*)$'), 'w:')
  end
  -- They register again under the new settings. All are removed: a registration with the old ones would let a producer
  -- believe that these are stored.
  redis.call('UNLINK', idle)
end
return stored and 1 or 2
