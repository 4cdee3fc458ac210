#!lua flags=allow-oom
-- Cancels tasks that wait or run. What runs is told by a message; its completion is refused from now on.
--
-- KEYS
--   settings     STRING, see src/shard/settings-text.ts
--   tasks        HASH id -> record
--   attempts     HASH id -> last attempt; becomes C, f64 instant, u16 attempt, reason
--   active       ZSET id -> end of the lease, ms; also the channel that all workers of the queue hear
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
--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   believed       the settings that the caller believes to be stored
--   publish        PUBLISH or SPUBLISH
--   keepCancelled  how many cancelled tasks stay
--   entries...     two for each, 100 at most: id, reason
-- RETURNS
--   a string with one character a task: 1 cancelled, 0 has ended before, - unknown
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, active, idle, holes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local cancelled, grouped, groups, turns, resting = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local progress, logs, watched, events, flows, outbox = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]
local believed, publish, keepCancelled = ARGV[1], ARGV[2], tonumber(ARGV[3])
local ready, scheduled, retrying = {}, {}, {}
for lane = 18, #KEYS, 3 do
  local index = (lane - 18) / 3
  ready[index], scheduled[index], retrying[index] = KEYS[lane], KEYS[lane + 1], KEYS[lane + 2]
end

-- include task.believed.part.lua
local isExtended = true
local ENDED = { S = true, D = true, C = true }

-- include task.wake.part.lua
-- include task.group.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua
-- include flow.forget.part.lua
-- include task.forget.part.lua
-- include task.leave.part.lua
-- include task.seal.part.lua

local replies = {}
for i = 4, #ARGV, 2 do
  local id, reason = ARGV[i], ARGV[i + 1]
  local record, last = redis.call('HGET', tasks, id), nil
  record, last = unseal(record, record and redis.call('HGET', attempts, id))
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
    finish(id, string.byte(record), value)
    happen('C', id, value)
  end
end
placeGroups()

local surplus = redis.call('ZCARD', cancelled) - keepCancelled
if surplus > 0 then
  -- At most 100 have come above; somebody may have lowered the limit.
  local oldest = redis.call('ZRANGE', cancelled, 0, math.min(surplus, 1000) - 1)
  redis.call('ZREM', cancelled, unpack(oldest))
  forget(oldest)
end
tellEnded()
tellEvents()
if hasFreed or #notes > 0 then
  wake(1)
end
return table.concat(replies)
