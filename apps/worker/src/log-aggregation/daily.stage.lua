#!lua
-- Lays a part of a checkpoint aside, before the checkpoint is counted. The same part again changes nothing.
--
-- KEYS
--   staged       LIST of parts
-- ARGV
--   index        of the part; the first one begins anew
--   part         see daily.add.part.lua
--   stagedMs     ms until it goes away if nothing more comes
-- RETURNS
--   1; 0 when the parts before it are gone
local staged = KEYS[1]
local index = tonumber(ARGV[1])
local part = ARGV[2]
local stagedMs = ARGV[3]

if redis.call('LLEN', staged) < index then return 0 end
if index == 0 then
  redis.call('DEL', staged)
else
  redis.call('LTRIM', staged, 0, index - 1)
end
redis.call('RPUSH', staged, part)
redis.call('PEXPIRE', staged, stagedMs)
return 1
