#!lua flags=no-writes
-- Reads one end of a mailbox and moves nothing.
--
-- KEYS
--   mailbox     HASH last, acked (and more); until it is forgotten
--   messages    LIST of entries, the oldest first; until acked, dropped or expired
-- ARGV
--   first       index of the first entry, as LRANGE takes it
--   final       index of the last entry
-- RETURNS
--   the cursor, the id before the oldest entry of all, and the entries, the oldest first
local mailbox, messages = KEYS[1], KEYS[2]
local first, final = ARGV[1], ARGV[2]

local head = redis.call('HMGET', mailbox, 'last', 'acked')
local base = tonumber(head[1] or 0) - redis.call('LLEN', messages)
return { tonumber(head[2] or 0), base, redis.call('LRANGE', messages, first, final) }
