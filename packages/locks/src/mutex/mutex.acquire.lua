#!lua
-- Grants each free lock to the first request that may have it. The other requests join the queue in their order, or are
-- refused. A fair request leaves a free lock to its waiters: then the remaining lease is -2, and the caller must re-check.
-- Repeating a request is safe: the holder gets a new token, a waiter keeps its place. O(requests · log waiters).
--
-- KEYS
--   locks...     three for each lock: STRING holder, until the lease ends; STRING last fencing token, 7 days;
--                ZSET waiter -> its place, 60 s from the last arrival or re-check
-- ARGV
--   requests...  for each lock: number of requests, then three for each of them: member, leaseMs (ms), mode. Fair modes
--                are 'W' (wait) and 'T' (try); 'B' (barge) and 'G' (grab) do the same past the queue. Lower case:
--                without a fencing token
-- RETURNS
--   now (µs; 0 if no request needed it), then three for each request:
--     1, fencing token, 0            it holds the lock; the token is 0 if the request wants none
--     2, place, remaining lease      it waits; the place is max(now, last place + 1)
--     0, 0, remaining lease          refused; ms, -2 if the lock is free
--   or, if the only request holds the lock, just the fencing token
local QUEUE_MS = '60000'

-- include mutex.next-fencing-token.part.lua

local replies
local size, at = 1, 1
for n = 1, #KEYS, 3 do
  local lease, token, queue = KEYS[n], KEYS[n + 1], KEYS[n + 2]
  local isQueued = redis.call('EXISTS', queue) == 1
  local last = at + 3 * ARGV[at]
  local hasArrivals, lastPlace, ttl
  for i = at + 1, last, 3 do
    local member, mode = ARGV[i], ARGV[i + 2]
    local isBarging = mode == 'B' or mode == 'G' or mode == 'b' or mode == 'g'
    local isTaken = (isBarging or not isQueued)
      and redis.call('SET', lease, member, 'NX', 'PX', ARGV[i + 1])
    local outcome, value, remaining = 0, 0, 0
    if isTaken or redis.call('GET', lease) == member then
      outcome, ttl = 1, nil
      if mode == 'W' or mode == 'T' or mode == 'B' or mode == 'G' then value = nextFencingToken(token) end
      if not isTaken then redis.call('PEXPIRE', lease, ARGV[i + 1], 'GT') end
      if isQueued then redis.call('ZREM', queue, member) end
      -- The usual case. A table costs Redis more than two commands.
      if #ARGV == 4 then return value end
    else
      if mode == 'W' or mode == 'B' or mode == 'w' or mode == 'b' then
        lastPlace = lastPlace or redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')[2] or '0'
        outcome, value = 2, clockText()
        if tonumber(lastPlace) >= tonumber(value) then value = string.format('%.0f', lastPlace + 1) end
        if redis.call('ZADD', queue, 'NX', value, member) == 1 then
          lastPlace = value
        else
          value = redis.call('ZSCORE', queue, member)
        end
        isQueued, hasArrivals = true, true
      end
      ttl = ttl or redis.call('PTTL', lease)
      remaining = ttl
    end
    replies = replies or {0, 0, 0, 0}
    replies[size + 1], replies[size + 2], replies[size + 3] = outcome, value, remaining
    size = size + 3
  end
  if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end
  at = last + 1
end
replies[1] = nowText or 0
return replies
