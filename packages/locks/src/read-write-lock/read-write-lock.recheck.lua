#!lua flags=allow-oom
-- Repairs a lost message, a lost queue, or a lock whose holder died. Missing waiters get their old places back. Waiters
-- that hold the lock without knowing it are notified, and get a new time to confirm. The first waiter gets the lock if
-- nobody is in the way. When all keys of the lock were lost, its holders may still rely on it. Then the lock stays
-- reserved until one of them renews or releases, or until their leases must have ended.
-- Repeating a call is safe. O((waiters + 64) · log (readers + queue)).
--
-- KEYS
--   write        STRING the writer, or 'lost'; until the lease ends
--   readers      ZSET reader, or 'lost.r' -> end of its lease (µs); until the last lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   quarantineMs  how long lost holders may still rely on the lock (ms; 0: unknown whether there were any)
--   waiters...   two for each: place, member
-- RETURNS
--   now (µs), the time until the end of the blocking lease (ms, -2 if none blocks), number of missing waiters, 1 if there may be
--   more to grant, else 0; then two for each waiter that holds the lock: its number (from 1), its fencing token
local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local publish, quarantineMs = ARGV[1], ARGV[2]
local TOKEN_MS, QUEUE_MS = '604800000', '60000'

-- include acquire.is-listening.part.lua

-- include read-write-lock.grant-next.part.lua

-- include server.time.part.lua
local last = tonumber(redis.call('GET', token) or 0)
local isKnown = last > 0
local now = math.max(time[1] * 1000000 + time[2], last)
redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)
local hasReaders = redis.call('EXISTS', readers) == 1
local writer = redis.call('GET', write)
local missing, more, grants = 0, 0, {}
for i = 3, #ARGV, 2 do
  local place, member = ARGV[i], ARGV[i + 1]
  local confirmMs, role = string.match(member, '(%d+)%.([rw])$')
  local isReader = role == 'r' and hasReaders and redis.call('ZSCORE', readers, member)
  if isReader or member == writer then
    if isReader then
      redis.call('ZADD', readers, 'GT', now + confirmMs * 1000, member)
      redis.call('PEXPIRE', readers, confirmMs, 'GT')
    else
      redis.call('PEXPIRE', write, confirmMs, 'GT')
    end
    -- The last token is the writer's. Tokens of readers are not stored.
    if isReader or last == 0 then
      last = math.max(now, last + 1)
      redis.call('SET', token, last, 'PX', TOKEN_MS)
    end
    grants[#grants + 1] = (i - 1) / 2
    grants[#grants + 1] = last
  else
    missing = missing + redis.call('ZADD', queue, 'NX', place, member)
  end
end
if #ARGV > 2 then redis.call('PEXPIRE', queue, QUEUE_MS) end
if not writer then
  -- Unless all keys were lost, an earlier grant has left its token.
  if missing > 0 and quarantineMs ~= '0' and not hasReaders and not isKnown then
    redis.call('SET', write, 'lost', 'PX', quarantineMs)
  else
    more = grantNext(true)
  end
end
local remainingMs = redis.call('PTTL', write)
if remainingMs < 0 then
  local next = tonumber(redis.call('ZRANGE', readers, 0, 0, 'WITHSCORES')[2] or 0)
  if next > now then remainingMs = math.ceil((next - now) / 1000) end
end
return {now, remainingMs, missing, more, unpack(grants)}
