#!lua flags=allow-oom
-- Extends the leases of holders that still have their permits. Never shortens a lease, so a repeated or overtaken call is
-- harmless. If the state of the semaphore was lost (FLUSHALL, a failover), a holder with a token gets its permits back as
-- long as they fit. Grants nothing: waiters re-check at the end of a lease. O(holders · log n).
--
-- KEYS
--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal
--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit
-- ARGV
--   renewals...  three for each: member, leaseMs (ms from now), its fencing token (0: none)
-- RETURNS
--   for each holder: 1 if it has its permits, else 0
local permits, state = KEYS[1], KEYS[2]
local callerLimit = '0'

-- include semaphore.state.part.lua
-- include semaphore.change.part.lua
-- include semaphore.proves-loss.part.lua

clock()
local hasExpired
local replies = {}
for i = 1, #ARGV, 3 do
  local member, leaseMs, fencingToken = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local ends = now + leaseMs * 1000
  local heldUntil = redis.call('ZSCORE', permits, member)
  local isHolder = heldUntil and tonumber(heldUntil) > now
  if isHolder then
    redis.call('ZADD', permits, 'GT', ends, member)
    isChanged, hasNewPermits = true, true
  elseif not heldUntil and fencingToken > 0 then
    if not hasExpired then
-- include semaphore.expire.part.lua
      hasExpired = true
    end
    local weight = weightOf(member)
    isHolder = provesLoss(fencingToken, leaseMs, weight) and (limit == 0 or used + weight <= limit)
    if isHolder then hold(member, ends, weight) end
  end
  replies[#replies + 1] = isHolder and 1 or 0
end
-- include semaphore.save.part.lua

return replies
