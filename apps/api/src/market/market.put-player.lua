#!lua
-- Creates a player, or changes name and address of one that exists. Funds count at creation only.
--
-- KEYS
--   players      HASH playerId -> profile; for good
--   funds        HASH playerId -> coins; for good
-- ARGV
--   playerId
--   profile      opaque
--   initial      coins
--   maxPlayers
-- RETURNS
--   {'created' | 'updated', coins} or {'market-full'}
local players = KEYS[1]
local funds = KEYS[2]
local playerId = ARGV[1]
local profile = ARGV[2]
local initial = ARGV[3]
local maxPlayers = tonumber(ARGV[4])

local coins = redis.call('HGET', funds, playerId)
if coins then
  redis.call('HSET', players, playerId, profile)
  return { 'updated', coins }
end
if redis.call('HLEN', players) >= maxPlayers then
  return { 'market-full' }
end
redis.call('HSET', players, playerId, profile)
redis.call('HSET', funds, playerId, initial)
return { 'created', initial }
