#!lua flags=no-writes
-- Reads the clock for the expiries of a shard.
--
-- KEYS
--   seq  STRING, the latest token; not read, it only selects the node
-- RETURNS
--   the server's time, ms
local seq = KEYS[1]

-- include server.time.part.lua
return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
