#!lua flags=no-writes
-- The state of a lock. O(log waiters).
--
-- KEYS
--   lease        STRING holder, or 'lost'
--   token        STRING last fencing token
--   queue        ZSET waiter -> its place
-- ARGV
--   waiter       the member to rank; may be empty
-- RETURNS
--   the holder or nil, the last fencing token or 0, remaining lease (ms, -2 if the lock is free), waiters,
--   the waiter's rank from 0 or nil, for how long the first waiter has waited (ms, 0 without one)
local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]
local waiter = ARGV[1]
local holder = redis.call('GET', lease)
local first, longestWaitMs = redis.call('ZRANGE', queue, '0', '0', 'WITHSCORES')[2], 0
if first then
  -- include server.time.part.lua
  longestWaitMs = math.max(0, math.floor((time[1] * 1000000 + time[2] - first) / 1000))
end
return {
  holder ~= 'lost' and holder,
  tonumber(redis.call('GET', token) or 0) or 0,
  redis.call('PTTL', lease),
  redis.call('ZCARD', queue),
  redis.call('ZRANK', queue, waiter),
  longestWaitMs,
}
