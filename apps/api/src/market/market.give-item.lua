#!lua
-- Puts a new item into a player's inventory.
--
-- KEYS
--   players      HASH playerId -> profile; for good
--   owners       HASH itemId -> playerId; until listed
--   inventory    ZSET of 'playerId itemId'; as owners
--   listed       HASH itemId -> listingId; until withdrawn or sold
-- ARGV
--   playerId
--   itemId
--   maxItems
-- RETURNS
--   'given', 'kept' (the player has it already), 'unknown-player', 'item-taken' or 'market-full'
local players = KEYS[1]
local owners = KEYS[2]
local inventory = KEYS[3]
local listed = KEYS[4]
local playerId = ARGV[1]
local itemId = ARGV[2]
local maxItems = tonumber(ARGV[3])

if redis.call('HEXISTS', players, playerId) == 0 then
  return 'unknown-player'
end
local owner = redis.call('HGET', owners, itemId)
if owner == playerId then
  return 'kept'
end
if owner or redis.call('HEXISTS', listed, itemId) == 1 then
  return 'item-taken'
end
if redis.call('HLEN', owners) + redis.call('HLEN', listed) >= maxItems then
  return 'market-full'
end
redis.call('HSET', owners, itemId, playerId)
redis.call('ZADD', inventory, 0, playerId .. ' ' .. itemId)
return 'given'
