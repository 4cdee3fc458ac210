#!lua flags=allow-oom
-- The chats that a member may be in, and those that are muted. Not flagged as one that only reads, so that it
-- is always the master that answers: a replica may not know yet what was pushed.
--
-- KEYS
--   chats        ZSET chat -> instant of joining, ms
--   mutes        HASH chat -> muted until, ms, 0 for ever
-- RETURNS
--   the server's clock in s; chats and instants in turn, the oldest first; chats and until when they are muted, in turn
local chats, mutes = KEYS[1], KEYS[2]

return { redis.call('TIME')[1], redis.call('ZRANGE', chats, 0, -1, 'WITHSCORES'), redis.call('HGETALL', mutes) }
