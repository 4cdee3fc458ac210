#!lua
-- Deletes an API key.
--
-- KEYS
--   record       HASH of the key; until it is revoked
--   ids          ZSET, all scores 0, of key ids; for good
-- ARGV
--   id
-- RETURNS
--   1, or 0 when there was no such key
local record = KEYS[1]
local ids = KEYS[2]
local id = ARGV[1]

redis.call('ZREM', ids, id)
return redis.call('DEL', record)
