#!lua flags=allow-oom
-- The state of a latch for its waiters. It extends the life of the latch while somebody waits. The first check begins a
-- latch, so that a later one can tell whether counts were lost. O(1).
--
-- KEYS
--   latch        HASH epoch (µs when it began), count, remaining; keepMs from the last call, or from its opening
--   ids          SET ids that have counted; until the latch opens, or ends
-- ARGV
--   count        of a latch that begins here
--   keepMs        ms
--   epoch        of the latch that the caller waits for; '' at the first check
-- RETURNS
--   its epoch, count and remaining; three nulls if there is no latch
local latch, ids = KEYS[1], KEYS[2]
local count, keepMs, epoch = ARGV[1], ARGV[2], ARGV[3]

local known = redis.call('HMGET', latch, 'epoch', 'count', 'remaining')
if not known[1] and epoch == '' then
  -- include server.time.part.lua
  known = {string.format('%.0f', time[1] * 1000000 + time[2]), count, count}
  redis.call('HSET', latch, 'epoch', known[1], 'count', count, 'remaining', count)
  redis.call('UNLINK', ids)
end
if known[2] == count and known[3] ~= '0' and (epoch == '' or epoch == known[1]) then
  redis.call('PEXPIRE', latch, keepMs)
  redis.call('PEXPIRE', ids, keepMs)
end
return known
