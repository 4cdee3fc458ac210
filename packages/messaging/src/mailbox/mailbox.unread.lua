#!lua flags=allow-oom
-- Counts the messages that a device of a mailbox has not acked.
--
-- KEYS
--   mailbox     ZSET, see src/keys.ts
--   log         LIST of entries, the oldest first, see src/log/entry.ts
--   uncounted   ZSET id -> id: expired messages
--   expiring    ZSET id -> expires at, ms
-- ARGV
--   device      as stored
--   tombstoneMs     ms until `uncounted` has outlived all entries
-- RETURNS
--   { 1 if more has expired than one call removes (else 0), messages }; -1: there is no mailbox; -2: it has no such device
local mailbox, log, uncounted, expiring = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local device, tombstoneMs = ARGV[1], ARGV[2]

-- include mailbox.clean.part.lua

local scores = redis.call('ZMSCORE', mailbox, '\0l', device)
if not scores[1] then
  return -1
end
if not scores[2] then
  return -2
end
last = 0 - scores[1]
local cursor = tonumber(scores[2])
if cursor == last then
  return { hasMore and 1 or 0, 0 }
end
local from = math.max(cursor, last - redis.call('LLEN', log)) + 1
return { hasMore and 1 or 0, last + 1 - from - redis.call('ZCOUNT', uncounted, from, '+inf') }
