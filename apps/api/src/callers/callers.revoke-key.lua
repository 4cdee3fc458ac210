#!lua
-- Deletes an API key.
--
-- KEYS
--   record       HASH of the key; until it is revoked
--   ids          ZSET, all scores 0, of key ids; for good
--   tenant       HASH of its tenant; until that is removed
-- ARGV
--   id
-- RETURNS
--   1, or 0 when there was no such key
local record = KEYS[1]
local ids = KEYS[2]
local tenant = KEYS[3]
local id = ARGV[1]

if redis.call('DEL', record) == 0 then
  return 0
end
redis.call('ZREM', ids, id)
redis.call('HINCRBY', tenant, 'keys', -1)
return 1
