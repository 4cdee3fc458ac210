#!lua flags=allow-oom
-- Removes holders and waiters, and grants free permits to the first waiters. Repeating a call is safe.
-- O((releases + expired + granted) · log n).
--
-- KEYS
--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   releases...  three for each: member; its fencing token (0: none, or its lease has ended locally), or '*' if another
--                process takes the permits away from it: then it keeps its place in the queue; leaseMs (ms)
-- RETURNS
--   1 if there is more to grant (call recheck), else 0; then for each release: 1 if the member held its permits, else 0
local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]
local publish = ARGV[1]
local callerLimit = '0'

-- include semaphore.state.part.lua
-- include semaphore.change.part.lua
-- include semaphore.proves-loss.part.lua

local hasLeft, isQueued
local replies = {0}
for i = 2, #ARGV, 3 do
  local member, how = ARGV[i], ARGV[i + 1]
  local isForced = how == '*'
  local isSure = not isForced and how ~= '0'
  local isHolder
  -- The permit may have expired without being freed. Without a token, its holder has lost it.
  local ends = not isSure and redis.call('ZSCORE', permits, member)
  if redis.call('ZREM', permits, member) == 1 then
    used, isChanged, hasLeft = math.max(0, used - weightOf(member)), true, true
    isHolder = isSure or tonumber(ends) > clock()
  elseif isForced then
    isHolder = false
  elseif redis.call('ZREM', queue, member) == 1 then
    hasLeft = true
  else
    isHolder = provesLoss(tonumber(how), ARGV[i + 2], weightOf(member))
    hasLeft = hasLeft or isHolder
  end
  replies[#replies + 1] = isHolder and 1 or 0
end
if hasLeft and redis.call('EXISTS', queue) == 1 then
-- include semaphore.expire.part.lua
-- include acquire.is-listening.part.lua
-- include semaphore.grant-waiters.part.lua
end
-- include semaphore.save.part.lua

replies[1] = hasMore and 1 or 0
return replies
