#!lua
-- Grants the lock to a reader if no writer holds it and nobody waits, and to a writer if nobody holds it or waits. The
-- other requests join the one queue in their order, or are refused. Repeating a request is safe: a holder gets a new
-- token, a waiter keeps its place. O(requests · log (readers + waiters) + expired readers).
--
-- KEYS
--   write        STRING the writer, or 'lost'; until the lease ends
--   readers      ZSET reader -> end of its lease (µs); until the last lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   requests...  three for each: member, leaseMs (ms), mode ('wait' or 'try')
-- RETURNS
--   now (µs), the time until the end of the lease that is in the way (ms, -2 if none is), then two for each request:
--     1, fencing token    it holds the lock
--     2, place            it waits; the place is max(now, last place + 1)
--     0, 0                refused
local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local TOKEN_MS, QUEUE_MS = '604800000', '60000'

-- include server.time.part.lua
local now = time[1] * 1000000 + time[2]
local writer, isQueued = false, false
if redis.call('EXISTS', write, queue) > 0 then
  writer = redis.call('GET', write)
  isQueued = redis.call('EXISTS', queue) == 1
end
local hasToken, isAhead, hasReaders
local hasArrivals, isRefused, lastPlace, longestMs = false, false, nil, 0

local function areReadersIn()
  if hasReaders == nil then
    hasReaders = redis.call('EXISTS', readers) == 1
    if hasReaders then
      redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)
      hasReaders = redis.call('EXISTS', readers) == 1
    end
  end
  return hasReaders
end

-- Makes `now` the next fencing token. A token that follows the clock still rises after its key was lost. `now` is never
-- less than the last token, so no lease ends early when the clock is set back and forth.
local function takeFencingToken()
  if hasToken then
    now, isAhead = now + 1, true
    return
  end
  local last = tonumber(redis.call('SET', token, now, 'PX', TOKEN_MS, 'GET') or 0)
  if last >= now then now, isAhead = last + 1, true end
  hasToken = true
end

local replies = {0, 0}
for i = 1, #ARGV, 3 do
  local member, leaseMs = ARGV[i], ARGV[i + 1]
  local isReader = string.sub(member, -1) == 'r'
  local isFree = not writer and not isQueued and (isReader or not areReadersIn())
  local outcome, value = 0, 0
  if isFree or (isReader and redis.call('ZSCORE', readers, member)) or member == writer then
    takeFencingToken()
    outcome, value = 1, now
    if isReader then
      redis.call('ZADD', readers, 'GT', now + leaseMs * 1000, member)
      longestMs, hasReaders = math.max(longestMs, leaseMs), true
    elseif isFree then
      redis.call('SET', write, member, 'PX', leaseMs)
      writer = member
    else
      redis.call('PEXPIRE', write, leaseMs, 'GT')
    end
    if isQueued then redis.call('ZREM', queue, member) end
  else
    isRefused = true
    if ARGV[i + 2] == 'wait' then
      lastPlace = lastPlace or tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)
      outcome, value = 2, math.max(now, lastPlace + 1)
      if redis.call('ZADD', queue, 'NX', value, member) == 1 then
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
if isAhead then redis.call('SET', token, now, 'PX', TOKEN_MS) end
if longestMs > 0 and redis.call('PEXPIRE', readers, longestMs, 'NX') == 0 then
  redis.call('PEXPIRE', readers, longestMs, 'GT')
end
if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end
replies[1] = now
if isRefused then
  replies[2] = redis.call('PTTL', write)
  if replies[2] < 0 then
    -- The first waiter waits for the readers, unless it is a reader itself.
    local head = redis.call('ZRANGE', queue, 0, 0)[1]
    local next = tonumber(redis.call('ZRANGE', readers, 0, 0, 'WITHSCORES')[2] or 0)
    if next > now and string.sub(head or 'w', -1) == 'w' then replies[2] = math.ceil((next - now) / 1000) end
  end
end
return replies
