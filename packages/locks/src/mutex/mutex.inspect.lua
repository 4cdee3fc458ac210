#!lua flags=no-writes
-- The state of a lock. O(1).
--
-- KEYS
--   lease        STRING holder
--   token        STRING last fencing token
--   queue        ZSET waiter -> its place
-- RETURNS
--   the holder or nil, the last fencing token or 0, remaining lease (ms, -2 if the lock is free), waiters
local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]
local holder = redis.call('GET', lease)
return {
  holder,
  tonumber(redis.call('GET', token) or 0),
  redis.call('PTTL', lease),
  redis.call('ZCARD', queue),
}
