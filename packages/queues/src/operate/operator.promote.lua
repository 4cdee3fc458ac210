#!lua flags=allow-oom
-- Makes tasks due now that wait for their time: scheduled ones, and those that are going to be tried again.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   idle              ZSET "<lease, ms> <channel>" of an idle worker -> idle until, ms
--   events            STREAM
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   ids...            100 at most
-- RETURNS
--   a string with one character a task: 1 is due now, 0 does not wait for its time, - unknown
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, idle, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expectedSettings, publish = ARGV[1], ARGV[2]
local delayed = {}
for priority = 5, #KEYS, 3 do
  delayed[#delayed + 1] = KEYS[priority + 1]
  delayed[#delayed + 1] = KEYS[priority + 2]
end

-- include shard.settings.part.lua

-- include task.wake.part.lua
-- include task.events.part.lua

local replies, isAny = {}, false
for i = 3, #ARGV do
  local id, isPromoted = ARGV[i], false
  for _, key in ipairs(delayed) do
    local at = redis.call('ZSCORE', key, id)
    if at and tonumber(at) > now then
      redis.call('ZADD', key, now, id)
      isPromoted = true
    end
  end
  if isPromoted then
    isAny = true
    recordEvent('Y', id, '')
    replies[#replies + 1] = '1'
  else
    replies[#replies + 1] = redis.call('HEXISTS', tasks, id) == 1 and '0' or '-'
  end
end
publishEvents()
if isAny then
  wake(1)
end
return table.concat(replies)
