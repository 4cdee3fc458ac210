#!lua flags=allow-oom
-- Unblocks senders of a mailbox. It only removes, so it works when memory is full.
--
-- KEYS
--   blocked      SET of senders; until they are unblocked
-- ARGV
--   senders...   of 1 or more
-- RETURNS
--   for each: 1 when it was blocked, otherwise 0
local blocked = KEYS[1]

local replies = {}
for index = 1, #ARGV do
  replies[index] = redis.call('SREM', blocked, ARGV[index])
end
return replies
