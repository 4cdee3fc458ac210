#!lua flags=allow-oom
-- Lengthens the leases of holders that still hold their locks; it never shortens one, so a repeated or overtaken call
-- does no harm. O(leases).
--
-- KEYS
--   leases...    STRING holder; until the lease ends
-- ARGV
--   terms...     two for each lease: member, leaseMs (ms from now)
-- RETURNS
--   for each lease: 1 if the member holds the lock, else 0
local replies = {}
for i = 1, #KEYS do
  local member, leaseMs = ARGV[2 * i - 1], ARGV[2 * i]
  local isHolder = redis.call('GET', KEYS[i]) == member
  if isHolder then redis.call('PEXPIRE', KEYS[i], leaseMs, 'GT') end
  replies[i] = isHolder and 1 or 0
end
return replies
