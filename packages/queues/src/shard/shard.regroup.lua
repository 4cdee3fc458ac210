#!lua flags=allow-oom
-- Applies changed limits to a limited number of groups. A group that may run now must not wait for its next event.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   attempts          HASH id -> last attempt
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   grouped           ZSET of waiting tasks with a group
--   groups            HASH group -> waiting, active, rate
--   runnableGroups    ZSET group that may run -> priority and order
--   limitedGroups     ZSET group over its rate limit -> until
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   cursor            0 to begin, then the last reply
-- RETURNS
--   the cursor for the next call; 0 when all groups are done
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, attempts, idle, grouped = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local groups, runnableGroups, limitedGroups = KEYS[5], KEYS[6], KEYS[7]
local expectedSettings, publish, cursor = ARGV[1], ARGV[2], ARGV[3]
local usesOptional = true
local MANY = 200

-- include shard.settings.part.lua

-- include task.wake.part.lua
-- include task.group.part.lua

local nextCursor, fields = unpack(redis.call('HSCAN', groups, cursor, 'COUNT', MANY))
for i = 1, #fields, 2 do
  if fields[i] ~= '' then
    redis.call('ZREM', limitedGroups, fields[i])
    placeGroup(fields[i], false)
  end
end
saveGroupOrder()
if redis.call('EXISTS', runnableGroups) == 1 then
  wake(1)
end
return nextCursor
