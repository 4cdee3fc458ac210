#!lua
-- Notes that a file which never comes again once it is done is counted in a day. Repeating it changes nothing.
--
-- KEYS
--   days         SET of days
-- ARGV
--   day
--   markerMs     ms until they go away, if nothing more is begun
--   untilMs      ms since 1970 until which nobody else counts the file; 0: for ever
-- RETURNS
--   1; 0 when the lease of the file has to be renewed first
local days = KEYS[1]
local day, markerMs, untilMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- include daily.late.part.lua
if isLate(untilMs) then return 0 end
redis.call('SADD', days, day)
redis.call('PEXPIRE', days, markerMs)
return 1
