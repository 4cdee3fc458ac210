#!lua
-- Gives the free lock to the first request that may have it; the others join the queue in their order, or are
-- refused. A fair request leaves a free lock to those who queue already: then remainingMs is -2, and the caller
-- has to re-check. Repeating a request is safe: the holder gets a token again, a waiter keeps its place.
-- O(requests · log waiters).
--
-- KEYS
--   lease        STRING holder; until the lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   requests...  three for each: member, leaseMs (ms), mode. Fair modes are 'wait' and 'try'; 'barge' and 'grab' do the
--                same past those who queue
-- RETURNS
--   now (µs), remaining lease (ms, -2 if the lock is free), then two for each request:
--     1, fencing token    it holds the lock
--     2, place            it waits; the place is max(now, last place + 1)
--     0, 0                refused
local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]
local TOKEN_MS, QUEUE_MS = '604800000', '60000'

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local isQueued = redis.call('EXISTS', queue) == 1
local hasArrivals, isHeld, lastPlace
local replies = {now, 0}
for i = 1, #ARGV, 3 do
  local member, mode = ARGV[i], ARGV[i + 2]
  local outcome, value = 0, 0
  local holder, isTaken
  if isQueued and (mode == 'wait' or mode == 'try') then
    holder = redis.call('GET', lease)
  else
    holder = redis.call('SET', lease, member, 'NX', 'GET', 'PX', ARGV[i + 1])
    isTaken = not holder
  end
  if isTaken or holder == member then
    -- Not INCR: a token that follows the clock goes on rising when its key was lost, and so the key may expire.
    outcome, value = 1, now
    local last = redis.call('SET', token, string.format('%.0f', now), 'PX', TOKEN_MS, 'GET')
    if last and tonumber(last) >= now then
      value = last + 1
      redis.call('SET', token, string.format('%.0f', value), 'PX', TOKEN_MS)
    end
    if not isTaken then redis.call('PEXPIRE', lease, ARGV[i + 1], 'GT') end
    if isQueued then redis.call('ZREM', queue, member) end
  else
    isHeld = true
    if mode == 'wait' or mode == 'barge' then
      lastPlace = lastPlace or tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)
      outcome, value = 2, math.max(now, lastPlace + 1)
      if redis.call('ZADD', queue, 'NX', string.format('%.0f', value), member) == 1 then
        lastPlace = value
      else
        value = tonumber(redis.call('ZSCORE', queue, member))
      end
      isQueued, hasArrivals = true, true
    end
  end
  replies[#replies + 1] = outcome
  replies[#replies + 1] = value
end
if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end
if isHeld then replies[2] = redis.call('PTTL', lease) end
return replies
