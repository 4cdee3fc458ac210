#!lua
-- Reserves numbers for the ids of jobs of the BullMQ layer.
--
-- KEYS
--   layerMeta         HASH; ids -> the last number
-- ARGV
--   count             how many
-- RETURNS
--   the last of them
local layerMeta = KEYS[1]
local count = ARGV[1]
-- The removal of a queue leaves the number for a time.
redis.call('PERSIST', layerMeta)
return redis.call('HINCRBY', layerMeta, 'ids', count)
