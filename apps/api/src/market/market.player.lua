#!lua flags=no-writes
-- Reads a player.
--
-- KEYS
--   players      HASH playerId -> profile
--   funds        HASH playerId -> coins
-- ARGV
--   playerId
-- RETURNS
--   {profile, coins}, both nil when there is no such player
local players = KEYS[1]
local funds = KEYS[2]
local playerId = ARGV[1]

return { redis.call('HGET', players, playerId), redis.call('HGET', funds, playerId) }
