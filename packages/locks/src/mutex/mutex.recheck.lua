#!lua flags=allow-oom
-- Repairs a lost message, a lost queue, or a lock whose holder died. Missing waiters get their old places back. A waiter
-- that holds the lock without knowing it is notified, and gets a new time to confirm. A lock without a holder is granted to
-- the first waiter. If all keys of the lock were lost, its holder may still rely on it. Then the lock stays reserved until
-- that holder renews or releases, or its lease must have ended. Repeating a call is safe. O((waiters + dead) · log queue).
--
-- KEYS
--   lease        STRING holder, or 'lost'; until the lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   quarantineMs  how long a lost holder may still rely on the lock (ms; 0: unknown whether there was one)
--   waiters...   two for each: place, member
-- RETURNS
--   now (µs), remaining lease (ms, -2 if the lock is free), number of missing waiters,
--   the number of the waiter that holds the lock (from 1; 0 if none does), its fencing token or 0
local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]
local publish, quarantineMs = ARGV[1], ARGV[2]
local QUEUE_MS = '60000'

-- include mutex.next-fencing-token.part.lua

-- include acquire.is-listening.part.lua

-- include mutex.grant-next.part.lua

local holder = redis.call('GET', lease)
local missing, granted, grantedToken = 0, 0, 0
for i = 3, #ARGV, 2 do
  local place, member = ARGV[i], ARGV[i + 1]
  if member == holder then
    granted = (i - 1) / 2
    redis.call('PEXPIRE', lease, string.match(member, '%d+$'), 'GT')
    grantedToken = redis.call('GET', token) or nextFencingToken(token)
  else
    missing = missing + redis.call('ZADD', queue, 'NX', place, member)
  end
end
if #ARGV > 2 then redis.call('PEXPIRE', queue, QUEUE_MS) end
if not holder then
  -- Unless all keys were lost, an earlier grant has left its token.
  if missing > 0 and quarantineMs ~= '0' and redis.call('EXISTS', token) == 0 then
    redis.call('SET', lease, 'lost', 'PX', quarantineMs)
  elseif redis.call('EXISTS', queue) == 1 then
    grantNext(lease, token, queue, true)
  end
end
return {clockText(), redis.call('PTTL', lease), missing, granted, grantedToken}
