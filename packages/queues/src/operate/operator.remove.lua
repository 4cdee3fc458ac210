#!lua flags=allow-oom
-- Removes tasks in any state but active, and all that is known of them.
--
-- KEYS
--   settings     STRING, see src/shard/settings-text.ts
--   tasks        HASH id -> record
--   attempts     HASH id -> last attempt
--   succeeded    LIST ids
--   dead         ZSET id -> instant of death, ms
--   idle         ZSET channel of a parked worker -> parked until, ms
--   holes        HASH id -> lane of each entry of it that is void
--   cancelled    ZSET id -> instant of cancellation, ms
--   grouped      ZSET of waiting tasks with a group
--   groups       HASH group -> waiting, active, rate
--   turns        ZSET group that may run -> lane and turn
--   resting      ZSET group under its rate limit -> until
--   progress     HASH id -> JSON
--   logs         HASH id -> lines
--   watched      ZSET id -> until when somebody waits for its end
--   events       STREAM
--   flows        HASH
--   outbox       HASH
--   remembered   ZSET id -> until when it is refused
--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   believed     the settings that the caller believes to be stored
--   publish      PUBLISH or SPUBLISH
--   ids...       100 at most
-- RETURNS
--   a string with one character a task: 1 removed, A not removed since it is active, - unknown
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, succeeded, dead, idle = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local holes, cancelled, grouped, groups, turns, resting = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local progress, logs, watched, events, flows, outbox = KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local remembered = KEYS[19]
local believed, publish = ARGV[1], ARGV[2]
local ready, scheduled, retrying = {}, {}, {}
for lane = 20, #KEYS, 3 do
  local index = (lane - 20) / 3
  ready[index], scheduled[index], retrying[index] = KEYS[lane], KEYS[lane + 1], KEYS[lane + 2]
end

-- include task.believed.part.lua
local isExtended = true

-- include task.wake.part.lua
-- include task.group.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.forget.part.lua
-- include task.forget.part.lua
-- include task.leave.part.lua
-- include task.seal.part.lua

local replies = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local record, last = redis.call('HGET', tasks, id), nil
  record, last = unseal(record, record and redis.call('HGET', attempts, id))
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
      finish(id, string.byte(record), '')
      leave(id, record, state, last)
    end
    redis.call('ZREM', remembered, id)
    forget({ id })
    happen('X', id, '')
  end
end
placeGroups()
tellEnded()
tellEvents()
if hasFreed or #notes > 0 then
  wake(1)
end
return table.concat(replies)
