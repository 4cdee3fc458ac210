#!lua
-- Stages a segment of a checkpoint, before the checkpoint is counted. The same segment again changes nothing.
--
-- KEYS
--   staged       LIST of segments
-- ARGV
--   index        of the segment; the first one begins anew
--   segment      see daily.add.part.lua
--   stagedMs     ms until it goes away if nothing more comes
-- RETURNS
--   1; 0 when the segments before it are gone
local staged = KEYS[1]
local index = tonumber(ARGV[1])
local segment = ARGV[2]
local stagedMs = ARGV[3]

if redis.call('LLEN', staged) < index then return 0 end
if index == 0 then
  redis.call('DEL', staged)
else
  redis.call('LTRIM', staged, 0, index - 1)
end
redis.call('RPUSH', staged, segment)
redis.call('PEXPIRE', staged, stagedMs)
return 1
