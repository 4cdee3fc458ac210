#!lua flags=allow-oom
-- For each lock, repairs a lost message, a lost queue, or a lock whose holder died. Missing waiters get their old places
-- back. A waiter that holds the lock without knowing it is notified, and gets a new time to confirm. A lock without a holder
-- is granted to the first waiter. If all keys of the lock were lost, its holder may still rely on it. Then the lock stays
-- reserved until that holder renews or releases, or its lease must have ended. Repeating a call is safe.
-- O((waiters + dead) · log queue).
--
-- KEYS
--   locks...     three for each lock: STRING holder, or 'lost', until the lease ends; STRING last fencing token, 7 days;
--                ZSET waiter -> its place, 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   rechecks...  for each lock: how long a lost holder may still rely on it (ms; 0: unknown whether there was one), number
--                of waiters, then two for each of them: place, member
-- RETURNS
--   now (µs), then four for each lock: remaining lease (ms, -2 if the lock is free), number of missing waiters, the number of
--   the waiter that holds the lock (from 1; 0 if none does), its fencing token or 0
local publish = ARGV[1]
local QUEUE_MS = '60000'

-- include mutex.next-fencing-token.part.lua

-- include acquire.is-listening.part.lua

-- include mutex.grant-next.part.lua

local replies = {0}
local at = 2
for n = 1, #KEYS, 3 do
  local lease, token, queue = KEYS[n], KEYS[n + 1], KEYS[n + 2]
  local quarantineMs, first = ARGV[at], at + 2
  at = first + 2 * ARGV[at + 1]
  local holder = redis.call('GET', lease)
  local missing, granted, grantedToken = 0, 0, 0
  for i = first, at - 1, 2 do
    local place, member = ARGV[i], ARGV[i + 1]
    if member == holder then
      granted = (i - first) / 2 + 1
      redis.call('PEXPIRE', lease, string.match(member, '%d+$'), 'GT')
      grantedToken = redis.call('GET', token) or nextFencingToken(token)
    else
      missing = missing + redis.call('ZADD', queue, 'NX', place, member)
    end
  end
  if at > first then redis.call('PEXPIRE', queue, QUEUE_MS) end
  if not holder then
    -- Unless all keys were lost, an earlier grant has left its token.
    if missing > 0 and quarantineMs ~= '0' and redis.call('EXISTS', token) == 0 then
      redis.call('SET', lease, 'lost', 'PX', quarantineMs)
    elseif redis.call('EXISTS', queue) == 1 then
      grantNext(lease, token, queue, true)
    end
  end
  replies[1] = clockText()
  local size = #replies
  replies[size + 1], replies[size + 2] = redis.call('PTTL', lease), missing
  replies[size + 3], replies[size + 4] = granted, grantedToken
end
return replies
