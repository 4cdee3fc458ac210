#!lua flags=allow-oom
-- Repairs what a lost message, a lost queue or a dead holder left behind: waiters that are missing from the queue get
-- their old places back, a waiter that was granted the lock and doesn't know it has its claim lengthened and is told,
-- and a lock without a holder goes to the first waiter. When all keys of the lock were lost, its holder may still rely on
-- it: then it is kept for that one until it renews or releases, or until its lease must be over.
-- Repeating a call is safe. O((waiters + dead) · log queue).
--
-- KEYS
--   lease        STRING holder, or 'lost'; until the lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   quarantineMs  how long a lost holder may still be there (ms; 0 if nobody can tell that one was lost)
--   waiters...   two for each: place, member
-- RETURNS
--   now (µs), remaining lease (ms, -2 if the lock is free), how many waiters were missing,
--   the number of the waiter that holds the lock (from 1; 0 if none does), its fencing token or 0
local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]
local publish, quarantineMs = ARGV[1], ARGV[2]
local QUEUE_MS = '60000'

-- include mutex.mint.part.lua

-- include waiting.is-heard.part.lua

-- include mutex.hand-on.part.lua

local holder = redis.call('GET', lease)
local missing, granted, grantedToken = 0, 0, 0
for i = 3, #ARGV, 2 do
  local place, member = ARGV[i], ARGV[i + 1]
  if member == holder then
    granted = (i - 1) / 2
    redis.call('PEXPIRE', lease, string.match(member, '%d+$'), 'GT')
    grantedToken = redis.call('GET', token) or mint(token)
  else
    missing = missing + redis.call('ZADD', queue, 'NX', place, member)
  end
end
if #ARGV > 2 then redis.call('PEXPIRE', queue, QUEUE_MS) end
if not holder then
  -- Whoever was granted the lock with a token left that token behind, unless all keys were lost.
  if missing > 0 and quarantineMs ~= '0' and redis.call('EXISTS', token) == 0 then
    redis.call('SET', lease, 'lost', 'PX', quarantineMs)
  elseif redis.call('EXISTS', queue) == 1 then
    handOn(lease, token, queue, true)
  end
end
return {clockText(), redis.call('PTTL', lease), missing, granted, grantedToken}
