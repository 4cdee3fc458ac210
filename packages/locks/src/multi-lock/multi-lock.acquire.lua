#!lua
-- Takes the locks of each request, in their order, as far as they are free and nobody queues for them. At the first that
-- is not, a request that waits keeps those before it and joins the queue; one that does not wait takes nothing at all.
-- What the member has already is lengthened, so the same request goes on when its lock was granted, and may be repeated.
-- Fair requests leave a free lock to those who queue already: then remainingMs is -2, and the caller has to re-check.
-- O(locks · log waiters).
--
-- KEYS
--   locks...     three for each lock of each request: STRING holder, until the lease ends; STRING last fencing token,
--                7 days; ZSET waiter -> its place, 60 s from the last arrival or re-check
-- ARGV
--   requests...  six for each: member, leaseMs (ms), mode, isFenced ('1' or '0'), how many locks, how many of the first
--                ones it has. Fair modes are 'wait' and 'try'; 'barge' and 'grab' do the same past those who queue
-- RETURNS
--   now (µs), then for each request: outcome, taken, place, remaining lease (ms, -2 if free), fencing tokens of all
--   that it has now (0 if they are not fenced). Outcomes:
--     1    it has all locks
--     2    it has so many of the first, and waits for the next; the place is max(now, last place + 1)
--     0    refused, by the lock after so many of the first
--     3    refused: it has lost a lock that it should have, the one after so many of the first
local QUEUE_MS = '60000'

-- include mutex.mint.part.lua

local function join(queue, member)
  local lastPlace = redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')[2] or '0'
  local place = clockText()
  if tonumber(lastPlace) >= tonumber(place) then place = string.format('%.0f', lastPlace + 1) end
  if redis.call('ZADD', queue, 'NX', place, member) == 0 then place = redis.call('ZSCORE', queue, member) end
  redis.call('PEXPIRE', queue, QUEUE_MS)
  return place
end

local replies = {clockText()}
local first = 1
for i = 1, #ARGV, 6 do
  local member, leaseMs, mode, isFenced = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3] == '1'
  local last, held = first + 3 * ARGV[i + 4] - 3, tonumber(ARGV[i + 5])
  local isFair, isPatient = mode == 'wait' or mode == 'try', mode == 'wait' or mode == 'barge'
  -- One command tells that all are free, which is the case to be quick in.
  local signs = {}
  for n = first, last, 3 do
    signs[#signs + 1] = KEYS[n]
    signs[#signs + 1] = KEYS[n + 2]
  end
  local isAllFree = held == 0 and redis.call('EXISTS', unpack(signs)) == 0
  local isOwn = {}
  local blocked = last + 3
  if not isAllFree then
    for n = first, last, 3 do
      local holder = redis.call('GET', KEYS[n])
      isOwn[n] = holder == member
      if not isOwn[n] and (holder or (isFair and redis.call('EXISTS', KEYS[n + 2]) == 1)) then
        blocked = n
        break
      end
    end
  end
  local taken = (blocked - first) / 3
  local reply = {1, taken, 0, 0}
  if taken < held then
    reply[1] = 3
  elseif blocked <= last and not isPatient then
    reply[1], reply[4] = 0, redis.call('PTTL', KEYS[blocked])
  else
    for n = first, blocked - 3, 3 do
      if isOwn[n] then
        redis.call('PEXPIRE', KEYS[n], leaseMs, 'GT')
      else
        redis.call('SET', KEYS[n], member, 'PX', leaseMs)
        if not isAllFree then redis.call('ZREM', KEYS[n + 2], member) end
      end
      local value = 0
      if isFenced then
        value = isOwn[n] and redis.call('GET', KEYS[n + 1]) or mint(KEYS[n + 1])
      end
      reply[#reply + 1] = value
    end
    if blocked <= last then
      reply[1], reply[3], reply[4] = 2, join(KEYS[blocked + 2], member), redis.call('PTTL', KEYS[blocked])
    end
  end
  replies[#replies + 1] = reply
  first = last + 3
end
return replies
