#!lua flags=allow-oom
-- Changes the settings of a shard if the caller expects the stored ones. Wakes all idle workers, which may have work now.
--
-- KEYS
--   settings          STRING
--   idle              ZSET "<lease, ms> <channel>" of an idle worker -> idle until, ms
--   events            STREAM
-- ARGV
--   expectedSettings  the settings that the caller expects
--   wanted            the new settings
--   publish           PUBLISH or SPUBLISH
-- RETURNS
--   1
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, idle, events = KEYS[1], KEYS[2], KEYS[3]
local expectedSettings, wanted, publish = ARGV[1], ARGV[2], ARGV[3]

local stored = redis.call('GET', settings)
if stored and stored ~= expectedSettings then
  return redis.error_reply('SETTINGS ' .. stored)
end
local keepEvents = tonumber(string.match(wanted, ';events=(%d+)') or 0)

-- include task.events.part.lua

if stored ~= wanted then
  redis.call('SET', settings, wanted)
  local isPaused = string.find(wanted, ';paused=1', 1, true)
  if not isPaused ~= not string.find(stored or '', ';paused=1', 1, true) then
    recordEvent(isPaused and 'Z' or 'U', '', '')
  end
  publishEvents()
  if keepEvents == 0 and string.find(stored or '', ';events=', 1, true) then
    redis.call('UNLINK', events)
  end
  for _, member in ipairs(redis.call('ZRANGE', idle, 0, 999)) do
    redis.call(publish, string.match(member, ' (.*)$'), 'w:')
  end
end
return 1
