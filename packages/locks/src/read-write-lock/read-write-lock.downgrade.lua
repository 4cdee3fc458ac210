#!lua flags=allow-oom
-- Turns the writer into a reader without releasing the lock, and grants the lock to the readers at the head of the queue.
-- Repeating a call is safe. O(64 · log (readers + waiters)).
--
-- KEYS
--   write        STRING the writer, or 'lost'; until the lease ends
--   readers      ZSET reader, or 'lost.r' -> end of its lease (µs); until the last lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   member       the writer
--   reader       the member that the writer becomes
--   leaseMs      ms from now
--   fencingToken  of the writer; 0 if it has none
-- RETURNS
--   the fencing token of the reader, or 0 if the writer did not hold the lock; 1 if there may be more to grant, else 0
local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local publish, member, reader, leaseMs, fencingToken = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local TOKEN_MS = '604800000'

-- include acquire.is-listening.part.lua

-- include read-write-lock.grant-next.part.lua
-- include acquire.is-plausible.part.lua

-- include read-write-lock.restore.part.lua

local isDone = redis.call('ZSCORE', readers, reader)
if not isDone and redis.call('GET', write) ~= member and not isLostWriter(fencingToken) then return {0, 0} end
-- include server.time.part.lua
local now = time[1] * 1000000 + time[2]
now = math.max(now, (redis.call('GET', token) or 0) + 1)
redis.call('SET', token, now, 'PX', TOKEN_MS)
redis.call('ZADD', readers, 'GT', now + leaseMs * 1000, reader)
if redis.call('PEXPIRE', readers, leaseMs, 'NX') == 0 then redis.call('PEXPIRE', readers, leaseMs, 'GT') end
if isDone then return {now, 0} end
redis.call('DEL', write)
return {now, redis.call('EXISTS', queue) == 1 and grantNext(false) or 0}
