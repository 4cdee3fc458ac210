#!lua flags=no-writes
-- The holder of this node's vote. O(1).
--
-- KEYS
--   vote         STRING member; until its lease ends
-- RETURNS
--   the member or nil, its remaining lease (ms, -2 if the vote is free)
local vote = KEYS[1]
return {redis.call('GET', vote), redis.call('PTTL', vote)}
