#!lua flags=no-writes
-- What is known about a mailbox without reading it.
--
-- KEYS
--   mailbox     HASH last, acked, bytes, sentAt, epoch (and more); until it is forgotten
--   messages    LIST of entries, the oldest first; until acked, dropped or expired
-- RETURNS
--   the five fields (nil when there is no mailbox), the number of messages, the oldest entry without its payload (or nil)
local mailbox, messages = KEYS[1], KEYS[2]

local fields = redis.call('HMGET', mailbox, 'last', 'acked', 'bytes', 'sentAt', 'epoch')
local oldest = redis.call('LINDEX', messages, 0)
return { fields, redis.call('LLEN', messages), oldest and string.match(oldest, '^%d+:%d+:%d+:') }
