#!lua flags=allow-oom
-- Lets senders of a mailbox in again. Only removes, so that it works at full memory.
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
