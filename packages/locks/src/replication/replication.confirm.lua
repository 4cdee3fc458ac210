#!lua flags=allow-oom
-- Writes the lease of a holder once more, without shortening it. A WAIT on the same connection counts the replicas with
-- this write, and the grant was written before it. PEXPIRE with GT would not be enough: within the millisecond of the grant
-- it changes nothing, so it is not replicated. Restores nothing. Repeating a call is safe. O(1).
--
-- KEYS
--   lease        STRING holder, until the lease ends
-- ARGV
--   member
--   leaseMs      ms from now
-- RETURNS
--   1 if the member holds the lock, else 0
local lease = KEYS[1]
local member, leaseMs = ARGV[1], tonumber(ARGV[2])
if redis.call('GET', lease) ~= member then return 0 end
redis.call('SET', lease, member, 'PX', math.max(leaseMs, redis.call('PTTL', lease)))
return 1
