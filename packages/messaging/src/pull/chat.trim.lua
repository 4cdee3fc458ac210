#!lua flags=allow-oom
-- Drops the oldest entries of a log, whether they are read or not. The cursors stay, so that the members who had not acked them
-- see a gap, as after a limit.
--
-- KEYS
--   chat         ZSET, see src/keys.ts
--   log          LIST of entries, see src/log/entry.ts; UNLINK
--   uncounted    ZSET id -> id; UNLINK
-- ARGV
--   epoch        -epoch of the id, ms, as the head has it; '' for any
--   upToId       the last id to drop
-- RETURNS
--   the newest id, then the first and the last dropped id, if entries were dropped; { last, 0 }: the id is above the newest, or of
--   another epoch
--   nil: there is no such chat
local chat, log, uncounted = KEYS[1], KEYS[2], KEYS[3]
local epoch, upToId = ARGV[1], tonumber(ARGV[2])

local head = redis.call('ZMSCORE', chat, '\0l', '\0e')
if not head[1] then
  return false
end
-- `0 - head[n]`, since `-head[n]` turns 0 into -0.
local last = 0 - head[1]
if upToId > last or epoch ~= '' and head[2] ~= epoch then
  return { last, 0 }
end
local base = last - redis.call('LLEN', log)
if upToId <= base then
  return { last }
end
local cursors, floor, keepAcked = chat, upToId, 0
-- include log.trim.part.lua
return { last, base + 1, upToId }
