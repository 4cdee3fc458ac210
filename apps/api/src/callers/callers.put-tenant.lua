#!lua
-- Creates a tenant, or changes its terms.
--
-- KEYS
--   tenant       HASH of the tenant; until it is removed
--   tenants      ZSET, all scores 0, of tenant ids; for good
-- ARGV
--   id
--   name
--   limit        of its requests, such as 600/60; empty: the default
--   quotas       JSON
--   maxTenants
-- RETURNS
--   'created', 'changed' or 'too-many-tenants'
local tenant = KEYS[1]
local tenants = KEYS[2]
local id = ARGV[1]
local name = ARGV[2]
local limit = ARGV[3]
local quotas = ARGV[4]
local maxTenants = tonumber(ARGV[5])

if redis.call('EXISTS', tenant) == 1 then
  redis.call('HSET', tenant, 'name', name, 'limit', limit, 'quotas', quotas)
  return 'changed'
end
if redis.call('ZCARD', tenants) >= maxTenants then
  return 'too-many-tenants'
end
-- include server.time.part.lua
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', tenant, 'name', name, 'limit', limit, 'quotas', quotas, 'createdAt', now, 'keys', 0)
redis.call('ZADD', tenants, 0, id)
return 'created'
