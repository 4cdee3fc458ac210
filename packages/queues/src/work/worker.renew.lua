#!lua flags=allow-oom
-- Prolongs the leases of running tasks. A task that is active under another token, or not at all, is not touched. Of a task that
-- was handed over (see queue.enqueue.lua) the first attempt has begun with that.
--
-- KEYS
--   attempts     HASH id -> last attempt; A u32 token, u16 attempt … while active, C … cancelled
--   active       ZSET id -> end of the lease, ms
-- ARGV
--   leaseMs      ms from now
--   leases...    two for each, 500 at most: id, token
-- RETURNS
--   a string with one character a lease: 1 renewed, 0 lost, C the task was cancelled
local attempts, active = KEYS[1], KEYS[2]
local leaseMs = tonumber(ARGV[1])

local time = redis.call('TIME')
local leaseUntil = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + leaseMs)
local ids, renewed, replies = {}, {}, {}
for i = 2, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
end
for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do
  local state, token, attempt, at
  if last then
    state, token, attempt, at = struct.unpack('>c1IH', last)
  end
  if state == 'A' and token == tonumber(ARGV[2 * i + 1]) then
    renewed[#renewed + 1] = leaseUntil
    renewed[#renewed + 1] = ids[i]
    replies[i] = '1'
    if attempt == 0 then
      redis.call('HSET', attempts, ids[i], struct.pack('>c1IH', state, token, 1) .. string.sub(last, at))
    end
  else
    replies[i] = state == 'C' and 'C' or '0'
  end
end
if #renewed > 0 then
  redis.call('ZADD', active, unpack(renewed))
end
return table.concat(replies)
