#!lua flags=allow-oom
-- Removes members from a chat and frees the entries that all others have acked. Without members the chat is deleted.
--
-- KEYS
--   chat         ZSET, see src/keys.ts
--   log          LIST of entries
--   uncounted    ZSET id -> id
--   joined       ZSET member -> id
--   ids          HASH message key -> id
--   oldIds       HASH, the generation before
--   ended        STRING, the epoch of the ended chat, for the next one of its name and for readers of the log; SET PXAT
--   left         ZSET member -> instant of the removed index entry, ms; PEXPIRE a minute
--   events       channel of the chat; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   keepAcked    number of newest messages to keep when all members have acked them
--   leavers...   for each: the member as stored; the instant of their index entry if a join under it may be under way, or ''
-- RETURNS
--   for each: 1, or 0 for a non-member
local chat, log, uncounted, joined = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ids, oldIds, ended, left, events = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local publish, keepAcked = ARGV[1], tonumber(ARGV[2])
local HEAD_SIZE = 4
-- Longer than master clocks differ or are set back, and longer than a reader pauses.
local REMEMBERED_MS = 3600000

local leavers, gone = {}, {}
for i = 3, #ARGV, 2 do
  leavers[#leavers + 1] = ARGV[i]
  if ARGV[i + 1] ~= '' then
    gone[#gone + 1] = ARGV[i + 1]
    gone[#gone + 1] = ARGV[i]
  end
end
-- include chat.left.part.lua

local scores = redis.call('ZMSCORE', chat, '\0l', '\0e', unpack(leavers))
if not scores[1] then
  scores = {}
end
local last = 0 - (scores[1] or 0)
local replies, frames, removals = {}, {}, {}
for i = 1, #leavers do
  local name, score = leavers[i], scores[i + 2]
  local removed = score and redis.call('ZREM', chat, name) or 0
  replies[i] = removed
  if removed == 1 then
    local text = name .. string.format('\0%.0f\0%.0f', last, math.floor(tonumber(score)))
    frames[#frames + 1] = struct.pack('>c1Ic0', 'l', #text, text)
    removals[#removals + 1] = name
  end
end
if #frames > 0 then
  local lowest = redis.call('ZRANGE', chat, HEAD_SIZE, HEAD_SIZE, 'WITHSCORES')[2]
  if not lowest then
    redis.call('UNLINK', chat, log, uncounted, joined, ids, oldIds)
-- include server.now.part.lua
    local epoch = 0 - (scores[2] or 0)
    redis.call('SET', ended, epoch, 'PXAT', math.max(now, epoch) + REMEMBERED_MS)
    frames[#frames + 1] = struct.pack('>c1I', 'x', 0)
  else
    redis.call('ZREM', joined, unpack(removals))
    local cursors, floor = chat, math.floor(tonumber(lowest))
-- include log.trim.part.lua
  end
  redis.call(publish, events, '*:' .. table.concat(frames))
end
return replies
