#!lua
-- Counts down, in the order of the count-downs. The one that reaches 0 opens the latch and notifies the waiters. An open
-- latch doesn't change. If the latch has another count, nothing is counted. O(count-downs).
--
-- KEYS
--   latch        HASH epoch (µs when it began), count, remaining; keepMs from the last call, or from its opening
--   ids          SET ids that have counted; until the latch opens, or ends. No more than `count`
--   updates      channel of the waiters; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   count        of a latch that begins here
--   keepMs        ms
--   downs...     two for each count-down: id ('' for none), by
-- RETURNS
--   the count with which the latch began; then, if that is `count`, what remains after each count-down
local latch, ids, updates = KEYS[1], KEYS[2], KEYS[3]
local publish, count, keepMs = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local known = redis.call('HMGET', latch, 'epoch', 'count', 'remaining')
local epoch, remaining = known[1], tonumber(known[3] or count)
if epoch and tonumber(known[2]) ~= count then return {tonumber(known[2])} end
local wasOpen = remaining == 0

if not epoch then
  -- include server.time.part.lua
  epoch = string.format('%.0f', time[1] * 1000000 + time[2])
  redis.call('HSET', latch, 'epoch', epoch, 'count', count)
  -- The ids of a latch that was evicted.
  redis.call('UNLINK', ids)
end
local replies = {count}
for i = 4, #ARGV, 2 do
  local id = ARGV[i]
  if remaining > 0 and (id == '' or redis.call('SADD', ids, id) == 1) then
    remaining = math.max(0, remaining - ARGV[i + 1])
  end
  replies[#replies + 1] = remaining
end
if not wasOpen then
  redis.call('HSET', latch, 'remaining', remaining)
  redis.call('PEXPIRE', latch, keepMs)
  if remaining > 0 then
    redis.call('PEXPIRE', ids, keepMs)
  else
    redis.call('UNLINK', ids)
    redis.call(publish, updates, '*:' .. epoch)
  end
end
return replies
