#!lua flags=allow-oom
-- Reads a range of a log at one instant, without tombstones. Ids are dense, so the index of an entry in the list is its id
-- less the first one. Not flagged as no-writes: the master has to answer, since a replica may not know the cursor yet.
--
-- KEYS
--   chat         ZSET: the head; member -> cursor and role; until the last member leaves
--   log          LIST of `<id>:<kind><ms since the epoch>:<payload>`, the oldest first; until acked by all, dropped or too old
--   uncounted    ZSET id -> id: entries that don't count as unread; with its entries
-- ARGV
--   member       reads from their cursor on, encoded; '' to read without a cursor
--   after        only higher ids
--   before       only lower ids; 0 for all
--   isLatest     1: the last entries of the range; 0: the first
--   limit        entries at most
--   maxScan      entries to scan, at most
--   maxBytes     of entries at most; no entry is returned when the first one is larger
-- RETURNS
--   nil: there is no such chat, or the member is not in it
--   { epoch, last id, score of the member as text (or 0), base: no id up to it is stored, unread messages after the cursor,
--   last scanned id, entries by ascending ids, bytes and time (ms since the epoch) of the next entry if it was too
--   large, else 0 and 0 }
local chat, log, uncounted = KEYS[1], KEYS[2], KEYS[3]
local member, after, before = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local isLatest, limit, maxScan, maxBytes = ARGV[4] == '1', tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local head = redis.call('ZMSCORE', chat, '\0l', '\0e', '\0b', member)
if not head[1] or (member ~= '' and not head[4]) then
  return nil
end
local last, score = -head[1], head[4] or '0'
local stored = redis.call('LLEN', log)
local base = last - stored
local unread = 0
if member ~= '' then
  local cursor = math.floor(tonumber(score))
  local floor = math.max(cursor, base)
  after = math.max(after, cursor)
  unread = last - floor - redis.call('ZCOUNT', uncounted, '(' .. string.format('%.0f', floor), '+inf')
end

-- The entries between `low` and `high` are not scanned yet.
local low = math.max(after, base)
local high = last + 1
if before > 0 and before < high then
  high = before
end
local usual, isPlain, entries = math.max(-head[3] / math.max(stored, 1), 1), false, {}
-- include log.read.part.lua
return { -head[2], last, score, base, unread, isLatest and high or low, entries, nextBytes, nextAt }
