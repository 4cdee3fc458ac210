#!lua flags=allow-oom
-- Removes a device from a mailbox, and frees the messages that only this device had not acked.
--
-- KEYS
--   mailbox     ZSET, see src/keys.ts
--   log         LIST of entries, the oldest first
--   uncounted   ZSET id -> id: expired messages
--   expiring    ZSET id -> expires at, ms
--   fetched     HASH device -> when it received last, ms
-- ARGV
--   device      as stored
-- RETURNS
--   1, or 0 when there was no such device
local mailbox, log, uncounted, expiring, fetched = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local device = ARGV[1]

if redis.call('ZREM', mailbox, device) == 0 then
  return 0
end
redis.call('HDEL', fetched, device)
local last = 0 - redis.call('ZSCORE', mailbox, '\0l')
local base = last - redis.call('LLEN', log)
-- include mailbox.free.part.lua
return 1
