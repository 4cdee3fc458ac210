#!lua flags=no-writes
-- Reads an API key.
--
-- KEYS
--   record       HASH of the key; until it is revoked
-- RETURNS
--   {now, fields}; no fields when there is no such key
local record = KEYS[1]

-- include server.time.part.lua
return { string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), redis.call('HGETALL', record) }
