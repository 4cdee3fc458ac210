#!lua flags=allow-oom
-- Returns the ends of tasks; for those that have not ended, registers the process as waiting.
--
-- KEYS
--   tasks        HASH id -> record
--   attempts     HASH id -> last attempt: S succeeded, D dead, C cancelled: f64 instant, u16 attempt, data
--   awaited      ZSET id -> second until which a process waits · 2^20 + number of the process; expires a minute after the
--                last call
-- ARGV
--   process      number of the waiting process, 1 to 2^20 - 1: messages come on the channel <awaited>:<process>, or on <awaited> if
--                several processes wait for the task
--   waitS        how long the registration holds, seconds
--   ids...       1,000 at most
-- RETURNS
--   one for each id: its end as stored in attempts, '' for an unknown task, nil if it has not ended
local tasks, attempts, awaited = KEYS[1], KEYS[2], KEYS[3]
local process, waitS = tonumber(ARGV[1]), tonumber(ARGV[2])
local SOLE = 1048576
local KEY_MS = 60000

local ids = {}
for i = 3, #ARGV do
  ids[#ids + 1] = ARGV[i]
end

-- include task.compact.part.lua

-- include server.time.part.lua
local nowS = tonumber(time[1])
redis.call('ZREMRANGEBYSCORE', awaited, '-inf', string.format('(%.0f', nowS * SOLE))
local scores = redis.call('ZMSCORE', awaited, unpack(ids))
local replies, waits = {}, {}
for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do
  local id = ids[i]
  local entry = last or compactEnd(id)
  local state = entry and string.sub(entry, 1, 1)
  if state == 'S' or state == 'D' or state == 'C' then
    replies[i] = entry
  elseif entry == nil or last and redis.call('HEXISTS', tasks, id) == 0 then
    replies[i] = ''
  else
    local score = scores[i] and tonumber(scores[i])
    local isAlone = not score or score % SOLE == process
    local untilS = nowS + waitS
    if score then
      untilS = math.max(untilS, math.floor(score / SOLE))
    end
    replies[i] = false
    waits[#waits + 1] = string.format('%.0f', untilS * SOLE + (isAlone and process or 0))
    waits[#waits + 1] = id
  end
end
if #waits > 0 then
  redis.call('ZADD', awaited, unpack(waits))
  redis.call('PEXPIRE', awaited, KEY_MS)
end
return replies
