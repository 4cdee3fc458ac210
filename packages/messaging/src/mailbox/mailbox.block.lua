#!lua
-- Blocks and unblocks senders of a mailbox, in the given order.
--
-- KEYS
--   blocked      SET of senders; until they are unblocked
-- ARGV
--   maxBlocked   senders in the set at most
--   changes...   for each: 1 to block or 0 to unblock, then the sender
-- RETURNS
--   for each: 1 when it changed something, 0 when not, -1: the set is full
local blocked = KEYS[1]
local maxBlocked = tonumber(ARGV[1])

local size = redis.call('SCARD', blocked)
local replies = {}
for index = 2, #ARGV, 2 do
  local isBlock, sender = ARGV[index] == '1', ARGV[index + 1]
  local reply = -1
  if not isBlock then
    reply = redis.call('SREM', blocked, sender)
    size = size - reply
  elseif size < maxBlocked or redis.call('SISMEMBER', blocked, sender) == 1 then
    reply = redis.call('SADD', blocked, sender)
    size = size + reply
  end
  replies[#replies + 1] = reply
end
return replies
