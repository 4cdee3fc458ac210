#!lua flags=allow-oom
-- Cancels tasks that wait or run. What runs is told by a message; its completion is refused from now on.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt; becomes C, f64 instant, u16 attempt, reason
--   active            ZSET id -> end of the lease, ms; also the channel that all workers of the queue hear
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
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   keepCancelled     how many cancelled tasks stay
--   entries...        two for each, 100 at most: id, reason
-- RETURNS
--   a string with one character a task: 1 cancelled, 0 has ended before, - unknown
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, active, idle, tombstones = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local cancelled, grouped, groups, runnableGroups, limitedGroups = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local progress, logs, awaited, events, flows, outbox = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local expectedSettings, publish, keepCancelled = ARGV[1], ARGV[2], tonumber(ARGV[3])
local ready, scheduled, retrying = {}, {}, {}
for priority = 18, #KEYS, 3 do
  local index = (priority - 18) / 3
  ready[index], scheduled[index], retrying[index] = KEYS[priority], KEYS[priority + 1], KEYS[priority + 2]
end

-- include shard.settings.part.lua
local usesOptional = true
local ENDED = { S = true, D = true, C = true }

-- include task.wake.part.lua
-- include task.group.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.delete.part.lua
-- include task.delete.part.lua
-- include task.leave.part.lua
-- include task.compact.part.lua

local replies = {}
for i = 4, #ARGV, 2 do
  local id, reason = ARGV[i], ARGV[i + 1]
  local record, last = redis.call('HGET', tasks, id), nil
  record, last = expandRecord(record, record and redis.call('HGET', attempts, id))
  last = last or ''
  local state = string.sub(last, 1, 1)
  if not record then
    replies[#replies + 1] = '-'
  elseif ENDED[state] then
    replies[#replies + 1] = '0'
  else
    replies[#replies + 1] = '1'
    local attempt = 0
    if state == 'A' then
      attempt = struct.unpack('>H', last, 6)
      redis.call('ZREM', active, id)
      local group = groupOf(record)
      if group then
        release(group)
      end
      local hex = string.gsub(id, '.', function(byte)
        return string.format('%02x', string.byte(byte))
      end)
      redis.call(publish, active, '*:cancel ' .. hex)
      -- Also a place under a limit.
      hasFreed = true
    else
      if state ~= '' then
        attempt = struct.unpack('>H', last, 10)
      end
      leave(id, record, state, last)
    end
    local value = 'C' .. struct.pack('>dH', now, attempt) .. reason
    redis.call('HSET', attempts, id, value)
    redis.call('ZADD', cancelled, now, id)
    recordEnd(id, string.byte(record), value)
    recordEvent('C', id, value)
  end
end
placeGroups()

local surplus = redis.call('ZCARD', cancelled) - keepCancelled
if surplus > 0 then
  -- At most 100 have come above; somebody may have lowered the limit.
  local oldest = redis.call('ZRANGE', cancelled, 0, math.min(surplus, 1000) - 1)
  redis.call('ZREM', cancelled, unpack(oldest))
  deleteTasks(oldest)
end
publishEnds()
publishEvents()
if hasFreed or #parentNotices > 0 then
  wake(1)
end
return table.concat(replies)
