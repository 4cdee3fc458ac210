#!lua
-- Sets the end of the lease of an active job of the BullMQ layer.
--
-- KEYS
--   active            ZSET u32 token · id -> end of the lease, ms
-- ARGV
--   id                as stored
--   token             of the lease
--   leaseMs           from now
-- RETURNS
--   1 renewed; 0 the lease is over
local active = KEYS[1]
local id, token, leaseMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- include server.time.part.lua
local member = struct.pack('>I', token) .. id
if not redis.call('ZSCORE', active, member) then
  return 0
end
redis.call('ZADD', active, string.format('%.0f', time[1] * 1000 + time[2] / 1000 + leaseMs), member)
return 1
