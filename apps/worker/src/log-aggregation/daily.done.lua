#!lua flags=allow-oom
-- Notes that a file is done and never comes again. Repeating it changes when.
--
-- KEYS
--   done         ZSET file -> when it was done, ms
-- ARGV
--   file
--   markerMs     ms until all are forgotten, if nothing more is done
-- RETURNS
--   1
local done = KEYS[1]
local file, markerMs = ARGV[1], ARGV[2]

local time = redis.call('TIME')
redis.call('ZADD', done, string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000)), file)
redis.call('PEXPIRE', done, markerMs)
return 1
