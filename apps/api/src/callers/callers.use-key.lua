#!lua
-- Notes the use of an API key. A revoked one stays revoked.
--
-- KEYS
--   record       HASH of the key; until it is revoked
-- RETURNS
--   1, or 0 when there is no such key
local record = KEYS[1]

if redis.call('EXISTS', record) == 0 then
  return 0
end
-- include server.time.part.lua
redis.call('HSET', record, 'lastUsedAt', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
return 1
