#!lua flags=allow-oom
-- Renews the leases of running tasks. A task that is not active under its token is left alone.
--
-- KEYS
--   attempts     HASH id -> last attempt; A u32 token … while active, C … cancelled
--   active       ZSET u32 token · id -> end of the lease, ms
-- ARGV
--   leaseMs      ms from now
--   leases...    two for each, 500 at most: id, token
-- RETURNS
--   a string with one character a lease: 1 renewed, 0 lost, C the task was cancelled
local attempts, active = KEYS[1], KEYS[2]
local leaseMs = tonumber(ARGV[1])
local leases = { unpack(ARGV, 2) }

-- include server.time.part.lua
local leaseUntil = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + leaseMs)
local ids, renewed, replies = {}, {}, {}
for i = 1, #leases, 2 do
  ids[#ids + 1] = leases[i]
end
for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do
  local state, token
  if last then
    state, token = struct.unpack('>c1I', last)
  end
  if state == 'A' and token == tonumber(leases[2 * i]) then
    renewed[#renewed + 1] = leaseUntil
    renewed[#renewed + 1] = string.sub(last, 2, 5) .. ids[i]
    replies[i] = '1'
  else
    replies[i] = state == 'C' and 'C' or '0'
  end
end
if #renewed > 0 then
  redis.call('ZADD', active, unpack(renewed))
end
return table.concat(replies)
