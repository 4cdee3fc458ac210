#!lua
-- Moves the cursor of a mailbox forward and frees the messages that it passes.
--
-- KEYS
--   mailbox     HASH last, acked (and more); until it is forgotten
--   messages    LIST of `<id>:…`, ids dense up to `last`
-- ARGV
--   upToIds...  the last id that is acked, or 'all' for the newest one
-- RETURNS
--   the newest id, then for each argument how many messages it freed, or -1: no message has that id yet
local mailbox, messages = KEYS[1], KEYS[2]

local head = redis.call('HMGET', mailbox, 'last', 'acked')
local last, ackedBefore = tonumber(head[1] or 0), tonumber(head[2] or 0)
local base = last - redis.call('LLEN', messages)

local acked, freed = ackedBefore, 0
local replies = { last }
for index = 1, #ARGV do
  local upTo = ARGV[index] == 'all' and last or tonumber(ARGV[index])
  local count = -1
  if upTo <= last then
    count = math.max(0, upTo - base - freed)
    freed = freed + count
    acked = math.max(acked, upTo)
  end
  replies[index + 1] = count
end
if acked > ackedBefore then
  redis.call('HSET', mailbox, 'acked', string.format('%.0f', acked))
end
if freed > 0 then
  redis.call('LTRIM', messages, freed, -1)
end
return replies
