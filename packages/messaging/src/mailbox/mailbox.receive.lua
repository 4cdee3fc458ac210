#!lua flags=allow-oom
-- Reads unread messages of a device from one end of a mailbox. Moves no cursor; stores the time of the read.
--
-- KEYS
--   mailbox     ZSET, see src/keys.ts
--   log         LIST of entries, the oldest first, see src/log/entry.ts
--   uncounted   ZSET id -> id: expired messages
--   expiring    ZSET id -> expires at, ms
--   fetched     HASH device -> when it received last, ms; PEXPIRE headMs
-- ARGV
--   device      as stored
--   isLatest    1: the newest messages; 0: the oldest
--   limit       messages
--   headMs      ms until the numbering of an unused mailbox is forgotten
--   tombstoneMs     ms until `uncounted` has outlived all entries
-- RETURNS
--   { 1 if more has expired than one call removes (else 0), epoch, its cursor, the id before the oldest entry, unread
--   messages, entries by ascending ids }
--   -1: there is no mailbox; -2: it has no such device
local mailbox, log, uncounted, expiring, fetched = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local device, isLatest, limit, headMs, tombstoneMs = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4], ARGV[5]
-- Written once a second: each write goes to the replicas and the AOF.
local FETCHED_STEP = 1000

-- include mailbox.clean.part.lua

local head = redis.call('ZMSCORE', mailbox, '\0e', '\0l', device)
if not head[1] then
  return -1
end
last = 0 - head[2]
local cursor = tonumber(head[3])
if not cursor then
  return -2
end

local fetchedAt = redis.call('HGET', fetched, device)
if not fetchedAt or now - fetchedAt >= FETCHED_STEP then
  redis.call('HSET', fetched, device, now)
  redis.call('PEXPIRE', fetched, headMs)
  redis.call('PEXPIRE', mailbox, headMs)
end

local unread, entries = 0, {}
base = last
if cursor < last then
  base = last - redis.call('LLEN', log)
  local low, high = math.max(cursor, base), last + 1
  local tombstones = redis.call('ZCOUNT', uncounted, low + 1, '+inf')
  unread = last - low - tombstones
  limit = math.min(limit, unread)
  local maxScan, maxBytes, usual, isPlain = math.huge, math.huge, 1, tombstones == 0
-- include log.read.part.lua
end
return { hasMore and 1 or 0, 0 - head[1], cursor, base, unread, entries }
