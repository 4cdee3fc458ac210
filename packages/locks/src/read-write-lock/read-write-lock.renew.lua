#!lua flags=allow-oom
-- Extends the leases of readers and writers that still have their locks. Never shortens a lease, so a repeated or overtaken
-- call is harmless. If all keys of a lock were lost (FLUSHALL, a failover), a holder with a token gets its lock back.
-- O(leases · log readers).
--
-- KEYS
--   locks...     three for each lock: STRING the writer or 'lost', until the lease ends; ZSET reader or 'lost.r' -> end of its
--                lease (µs), until the last lease ends; STRING last fencing token, 7 days
-- ARGV
--   renewals...  three for each lock: member, leaseMs (ms from now), its fencing token (0: none)
-- RETURNS
--   for each lock: 1 if the member holds it, else 0
local write, readers, token

-- include acquire.is-plausible.part.lua

-- include read-write-lock.restore.part.lua

-- include server.time.part.lua
local now = time[1] * 1000000 + time[2]
local replies = {}
for i = 1, #KEYS, 3 do
  write, readers, token = KEYS[i], KEYS[i + 1], KEYS[i + 2]
  local member, leaseMs, fencingToken = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local isHolder
  if string.sub(member, -1) == 'r' then
    isHolder = redis.call('ZSCORE', readers, member) or restoreReaders(fencingToken, leaseMs)
    if isHolder then
      redis.call('ZADD', readers, 'GT', now + leaseMs * 1000, member)
      redis.call('PEXPIRE', readers, leaseMs, 'GT')
    end
  else
    isHolder = redis.call('GET', write) == member
    if isHolder then
      redis.call('PEXPIRE', write, leaseMs, 'GT')
    elseif isLostWriter(fencingToken) then
      redis.call('SET', write, member, 'PX', leaseMs)
      isHolder = true
    end
  end
  replies[#replies + 1] = isHolder and 1 or 0
end
return replies
