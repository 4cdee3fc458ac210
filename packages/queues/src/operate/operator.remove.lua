#!lua flags=allow-oom
-- Removes tasks in any state but active, and all that is known of them.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   succeeded         LIST ids
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET "<lease, ms> <channel>" of an idle worker -> idle until, ms
--   tombstones        HASH id -> priority of each entry of it that is void
--   cancelled         ZSET id -> instant of cancellation, ms
--   grouped           ZSET of waiting tasks with a group
--   groups            HASH group -> waiting, active, rate
--   runnableGroups    ZSET group that may run -> priority and turn
--   limitedGroups     ZSET group under its rate limit -> until
--   progress          HASH id -> JSON
--   logs              HASH id -> lines
--   awaited           ZSET id -> until when somebody waits for its end
--   events            STREAM
--   flows             HASH
--   outbox            HASH
--   dedupIds          ZSET id -> until when it is refused
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   ids...            100 at most
-- RETURNS
--   a string with one character a task: 1 removed, A not removed since it is active, - unknown
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, succeeded, dead, idle = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local tombstones, cancelled, grouped, groups, runnableGroups, limitedGroups = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local progress, logs, awaited, events, flows, outbox = KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local dedupIds = KEYS[19]
local expectedSettings, publish = ARGV[1], ARGV[2]
local ready, scheduled, retrying = {}, {}, {}
for priority = 20, #KEYS, 3 do
  local index = (priority - 20) / 3
  ready[index], scheduled[index], retrying[index] = KEYS[priority], KEYS[priority + 1], KEYS[priority + 2]
end

-- include shard.settings.part.lua
local usesOptional = true

-- include task.wake.part.lua
-- include task.group.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include task.delete.part.lua
-- include task.leave.part.lua
-- include task.compact.part.lua

local replies = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local record, last = redis.call('HGET', tasks, id), nil
  record, last = expandRecord(record, record and redis.call('HGET', attempts, id))
  last = last or ''
  local state = string.sub(last, 1, 1)
  if not record then
    replies[#replies + 1] = '-'
  elseif state == 'A' then
    replies[#replies + 1] = 'A'
  else
    replies[#replies + 1] = '1'
    if state == 'S' then
      redis.call('LREM', succeeded, -1, id)
    elseif state == 'D' then
      redis.call('ZREM', dead, id)
    elseif state == 'C' then
      redis.call('ZREM', cancelled, id)
    else
      recordEnd(id, string.byte(record), '')
      leave(id, record, state, last)
    end
    redis.call('ZREM', dedupIds, id)
    deleteTasks({ id })
    recordEvent('X', id, '')
  end
end
placeGroups()
publishEnds()
publishEvents()
if hasFreed or #parentNotices > 0 then
  wake(1)
end
return table.concat(replies)
