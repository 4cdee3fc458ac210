#!lua flags=allow-oom
-- Notes that a file is done and never comes again. Repeating it changes when.
--
-- KEYS
--   done         ZSET file -> when it was done, ms
-- ARGV
--   file
--   markerMs     ms until all are forgotten, if nothing more is done
--   untilMs      ms since 1970 until which nobody else counts the file; 0: for ever
-- RETURNS
--   1; 0 when the lease of the file has to be renewed first
local done = KEYS[1]
local file, markerMs, untilMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- include daily.late.part.lua
if isLate(untilMs) then return 0 end

-- include server.time.part.lua
redis.call('ZADD', done, string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000)), file)
redis.call('PEXPIRE', done, markerMs)
return 1
