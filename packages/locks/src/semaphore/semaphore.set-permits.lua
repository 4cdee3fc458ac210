#!lua flags=allow-oom
-- Sets the limit, and grants permits to the waiters that fit now. Below the number of used permits nobody loses any, and
-- nothing is granted until permits are free. Waiters for more than the limit are refused at the head of the queue, or by
-- their next re-check. Repeating a call is safe. O((expired + granted) · log n).
--
-- KEYS
--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   callerLimit  the new limit
-- RETURNS
--   1 if there is more to grant (call recheck), else 0
local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]
local publish, callerLimit = ARGV[1], ARGV[2]

-- include semaphore.state.part.lua
-- include semaphore.change.part.lua

limit, isChanged = tonumber(callerLimit), true
local isQueued
-- include semaphore.expire.part.lua
-- include acquire.is-listening.part.lua
-- include semaphore.grant-waiters.part.lua
-- include semaphore.save.part.lua

redis.call('PEXPIRE', state, KEEP_MS)
return hasMore and 1 or 0
