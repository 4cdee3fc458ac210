#!lua
-- Creates an API key, or changes the name and the scopes of one that exists; its secrets stay.
--
-- KEYS
--   record       HASH of the key; until it is revoked
--   ids          ZSET, all scores 0, of key ids; for good
-- ARGV
--   id
--   hash         of the secret of a created key, hexadecimal
--   name
--   scopes       separated by spaces
--   maxKeys
-- RETURNS
--   'created', 'changed' or 'too-many-keys'
local record = KEYS[1]
local ids = KEYS[2]
local id = ARGV[1]
local hash = ARGV[2]
local name = ARGV[3]
local scopes = ARGV[4]
local maxKeys = tonumber(ARGV[5])

if redis.call('EXISTS', record) == 1 then
  redis.call('HSET', record, 'name', name, 'scopes', scopes)
  return 'changed'
end
if redis.call('ZCARD', ids) >= maxKeys then
  return 'too-many-keys'
end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', record, 'name', name, 'scopes', scopes, 'createdAt', now, 'secret:' .. hash, '')
redis.call('ZADD', ids, 0, id)
return 'created'
