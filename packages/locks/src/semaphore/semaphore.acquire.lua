#!lua
-- Grants permits to the waiters that fit, then to the requests that fit while nobody waits. The other requests join the
-- queue in their order, or are refused. Repeating a request is safe: a holder gets a new token, a waiter keeps its place.
-- O((requests + expired + granted) · log n).
--
-- KEYS
--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   callerLimit  the limit for a semaphore without one
--   requests...  four for each: member, leaseMs (ms), mode ('wait' or 'try'), the limit of the caller
-- RETURNS
--   now (µs), the time until the next permit may become free (ms; -1: more to do, call recheck; -2: all are free; 0 if
--   nobody has to wait), then two for each request:
--     1, fencing token    it holds its permits
--     2, place            it waits; the place is max(now, last place + 1)
--     3, limit            refused: the caller has another limit than this
--     0, 0                refused
local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]
local publish, callerLimit = ARGV[1], ARGV[2]
local QUEUE_MS = '60000'

-- include semaphore.state.part.lua
-- include semaphore.change.part.lua

local isQueued
-- include semaphore.expire.part.lua
-- include acquire.is-listening.part.lua
-- include semaphore.grant-waiters.part.lua

local hasArrivals, mustWait, lastPlace
local replies = {now, 0}
for i = 3, #ARGV, 4 do
  local member, ends = ARGV[i], now + ARGV[i + 1] * 1000
  local weight = weightOf(member)
  local outcome, value = 0, 0
  local fits = not isQueued and used + weight <= limit
  if tonumber(ARGV[i + 3]) ~= limit then
    outcome, value = 3, limit
  elseif fits and hold(member, ends, weight) then
    outcome, value = 1, nextFencingToken()
  elseif used > 0 and redis.call('ZSCORE', permits, member) then
    -- A repeated request, because the reply was lost.
    redis.call('ZADD', permits, 'GT', ends, member)
    isChanged, hasNewPermits = true, true
    outcome, value = 1, nextFencingToken()
  else
    mustWait = true
    if ARGV[i + 2] == 'wait' then
      lastPlace = lastPlace or tonumber(redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')[2] or 0)
      outcome, value = 2, math.max(now, lastPlace + 1)
      if redis.call('ZADD', queue, 'NX', value, member) == 1 then
        lastPlace = value
      else
        value = tonumber(redis.call('ZSCORE', queue, member))
      end
      isQueued, hasArrivals, isChanged = true, true, true
    end
  end
  replies[#replies + 1] = outcome
  replies[#replies + 1] = value
end
if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end
-- include semaphore.save.part.lua

if mustWait then
-- include semaphore.remaining.part.lua
  replies[2] = remainingMs
end
return replies
