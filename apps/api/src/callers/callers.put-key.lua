#!lua
-- Creates an API key, or changes the name, the subject, the scopes and the limit of one that exists; its secrets and its tenant stay.
--
-- KEYS
--   record       HASH of the key; until it is revoked
--   ids          ZSET, all scores 0, of key ids; for good
--   tenant       HASH of its tenant; until that is removed
-- ARGV
--   id
--   tenantId
--   hash         of the secret of a created key, hexadecimal
--   name
--   subject      empty: none
--   scopes       separated by spaces
--   limit        of its requests, such as 600/60; empty: the default
--   maxKeys
-- RETURNS
--   'created', 'changed', 'other-tenant', 'unknown-tenant' or 'too-many-keys'
local record = KEYS[1]
local ids = KEYS[2]
local tenant = KEYS[3]
local id = ARGV[1]
local tenantId = ARGV[2]
local hash = ARGV[3]
local name = ARGV[4]
local subject = ARGV[5]
local scopes = ARGV[6]
local limit = ARGV[7]
local maxKeys = tonumber(ARGV[8])

local its = redis.call('HGET', record, 'tenant')
if its then
  if its ~= tenantId then
    return 'other-tenant'
  end
  redis.call('HSET', record, 'name', name, 'subject', subject, 'scopes', scopes, 'limit', limit)
  return 'changed'
end
-- That of the deployment is always there.
if tenantId ~= 'default' and redis.call('EXISTS', tenant) == 0 then
  return 'unknown-tenant'
end
if redis.call('ZCARD', ids) >= maxKeys then
  return 'too-many-keys'
end
-- include server.time.part.lua
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local fields = { 'tenant', tenantId, 'name', name, 'subject', subject, 'scopes', scopes, 'limit', limit, 'createdAt', now }
redis.call('HSET', record, 'secret:' .. hash, '', unpack(fields))
redis.call('ZADD', ids, 0, id)
redis.call('HINCRBY', tenant, 'keys', 1)
return 'created'
