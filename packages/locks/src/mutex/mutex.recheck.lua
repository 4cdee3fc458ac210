#!lua flags=allow-oom
-- Repairs what a lost message, a lost queue or a dead holder left behind: waiters that are missing from the queue get
-- their old places back, a waiter that was granted the lock and doesn't know it has its claim lengthened and is told,
-- and a lock without a holder goes to the first waiter. Repeating a call is safe. O((waiters + dead) · log queue).
--
-- KEYS
--   lease        STRING holder; until the lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   waiters...   two for each: place, member
-- RETURNS
--   now (µs), remaining lease (ms, -2 if the lock is free), how many waiters were missing,
--   the number of the waiter that holds the lock (from 1; 0 if none does), its fencing token or 0
local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]
local publish = ARGV[1]
-- What one call may drop of waiters whose process is gone; the next re-check goes on.
local MAX_DEAD, TOKEN_MS, QUEUE_MS = 100, '604800000', '60000'

-- The same text stands in mutex.release.lua; a test compares them.
local function handOn(isFair)
  if redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lease) end
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local minted = math.max(now, (redis.call('GET', token) or 0) + 1)
  local grant = isFair and string.format('%.0f:%.0f', minted, now) or ''
  local channels = string.gsub(lease, 'lease$', 'grant:')
  if not isFair then redis.call('DEL', lease) end
  for _ = 1, MAX_DEAD do
    local head = redis.call('ZRANGE', queue, 0, 0)[1]
    if not head then break end
    local contender, waiter, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')
    local isAlive = contender and redis.call(publish, channels .. contender, waiter .. ':' .. grant) > 0
    if isAlive and not isFair then return end
    redis.call('ZPOPMIN', queue)
    if isAlive then
      redis.call('SET', lease, head, 'PX', claimMs)
      redis.call('SET', token, string.format('%.0f', minted), 'PX', TOKEN_MS)
      return
    end
  end
  redis.call('DEL', lease)
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local holder = redis.call('GET', lease)
local missing, granted, grantedToken = 0, 0, 0
for i = 2, #ARGV, 2 do
  local place, member = ARGV[i], ARGV[i + 1]
  if member == holder then
    granted = i / 2
    redis.call('PEXPIRE', lease, string.match(member, '%d+$'), 'GT')
    grantedToken = tonumber(redis.call('GET', token) or 0)
    if grantedToken == 0 then
      grantedToken = now
      redis.call('SET', token, string.format('%.0f', now), 'PX', TOKEN_MS)
    end
  else
    missing = missing + redis.call('ZADD', queue, 'NX', place, member)
  end
end
if #ARGV > 1 then redis.call('PEXPIRE', queue, QUEUE_MS) end
if not holder then handOn(true) end
return {now, redis.call('PTTL', lease), missing, granted, grantedToken}
