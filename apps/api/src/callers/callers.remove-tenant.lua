#!lua
-- Removes a tenant that has no API keys.
--
-- KEYS
--   tenant       HASH of the tenant; until it is removed
--   tenants      ZSET, all scores 0, of tenant ids; for good
-- ARGV
--   id
-- RETURNS
--   'removed', or 'tenant-in-use'; also 'removed' when there was none
local tenant = KEYS[1]
local tenants = KEYS[2]
local id = ARGV[1]

if tonumber(redis.call('HGET', tenant, 'keys') or 0) > 0 then
  return 'tenant-in-use'
end
redis.call('DEL', tenant)
redis.call('ZREM', tenants, id)
return 'removed'
