#!lua
-- Counts a checkpoint in a day: the lines of a file between two offsets, once, however often it is asked to. The segments that were
-- staged become pending, and are added by daily.resume: so no call takes long.
--
-- KEYS
--   files        HASH file -> offset up to which its lines are counted
--   pending      LIST of segments that are counted and wait
--   staged       LIST of segments that aren't counted
--   total        STRING lines of the day
--   country      ZSET member -> lines
--   region       ZSET member -> lines
--   city         ZSET member -> lines
-- ARGV
--   file
--   fromOffset   where the last checkpoint that has lines of this day ended; 0 for none
--   toOffset
--   lines        of this day between them
--   stagedSegments  how many are staged
--   segment         the first segment, which isn't staged
--   keepMs  ms until the aggregates of the day go away
--   markerMs     ms until the offsets go away
--   untilMs      ms since 1970 until which nobody else counts the file; 0: for ever
-- RETURNS
--   {what became of it, the offset up to which the file is counted, how many segments wait}: 'counted'; 'before', it was counted already;
--   'pending', another checkpoint waits, add that one first; 'unstaged', segments are gone, stage them again; 'late', renew
--   the lease of the file; 'conflict', the file is
--   counted up to an offset within the checkpoint or before it
local files, pending, staged, total = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local country, region, city = KEYS[5], KEYS[6], KEYS[7]
local file = ARGV[1]
local fromOffset = ARGV[2]
local toOffset = ARGV[3]
local lines = ARGV[4]
local stagedSegments = tonumber(ARGV[5])
local segment = ARGV[6]
local keepMs = ARGV[7]
local markerMs = ARGV[8]
local untilMs = tonumber(ARGV[9])

-- include daily.add.part.lua

local offset = redis.call('HGET', files, file) or '0'
local waiting = redis.call('LLEN', pending)
if tonumber(offset) >= tonumber(toOffset) then return { 'before', offset, waiting } end
-- include daily.late.part.lua
if isLate(untilMs) then return { 'late', offset, 0 } end
if waiting > 0 then return { 'pending', offset, waiting } end
if offset ~= fromOffset then return { 'conflict', offset, 0 } end
if redis.call('LLEN', staged) ~= stagedSegments then return { 'unstaged', offset, 0 } end

add(segment)
if stagedSegments > 0 then
  redis.call('RENAME', staged, pending)
  redis.call('PEXPIRE', pending, keepMs)
end
redis.call('INCRBY', total, lines)
redis.call('HSET', files, file, toOffset)
for _, key in ipairs({ total, country, region, city }) do redis.call('PEXPIRE', key, keepMs) end
redis.call('PEXPIRE', files, markerMs)
return { 'counted', toOffset, stagedSegments }
