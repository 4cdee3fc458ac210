#!lua flags=allow-oom
-- The chats of a member's index, and their mutes. Not flagged as no-writes: the master has to answer, since a replica may lag
-- behind a push.
--
-- KEYS
--   chats        ZSET chat -> instant of joining, ms
--   mutes        HASH chat -> muted until, ms, 0 forever
-- RETURNS
--   the server's clock in s; pairs of chat and instant, the oldest first; pairs of chat and end of its mute
local chats, mutes = KEYS[1], KEYS[2]

-- include server.time.part.lua
return { time[1], redis.call('ZRANGE', chats, 0, -1, 'WITHSCORES'), redis.call('HGETALL', mutes) }
