#!lua flags=allow-oom
-- Extends the leases of holders that still have their locks. Never shortens a lease, so a repeated or overtaken call is
-- harmless. If all keys of a lock were lost (FLUSHALL, a failover), a holder with a token gets its lock back. O(leases).
--
-- KEYS
--   leases...    two for each lock: STRING holder or 'lost', until the lease ends; STRING last fencing token, 7 days
-- ARGV
--   renewals...  three for each lock: member, leaseMs (ms from now), its fencing token (0: none)
-- RETURNS
--   for each lock: 1 if the member holds it, else 0
local TOKEN_MS = '604800000'

-- include acquire.is-plausible.part.lua

local replies = {}
for i = 1, #KEYS / 2 do
  local lease, token = KEYS[2 * i - 1], KEYS[2 * i]
  local member, leaseMs, fencingToken = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  local holder = redis.call('GET', lease)
  local isHolder = holder == member
  if isHolder then
    redis.call('PEXPIRE', lease, leaseMs, 'GT')
  elseif (not holder or holder == 'lost') and redis.call('EXISTS', token) == 0 and isPlausible(fencingToken) then
    isHolder = true
    redis.call('SET', lease, member, 'PX', leaseMs)
    redis.call('SET', token, fencingToken, 'PX', TOKEN_MS)
  end
  replies[i] = isHolder and 1 or 0
end
return replies
