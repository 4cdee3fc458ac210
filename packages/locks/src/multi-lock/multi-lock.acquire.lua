#!lua
-- Takes the locks of each request, in order, up to the first lock that is held or has waiters. A request that waits keeps
-- the locks before it and joins the queue there; a request that does not wait takes nothing. Leases that the member holds
-- get more time, so the request may be repeated, and continues after a grant. A fair request leaves a free lock to its
-- waiters: then the remaining lease is -2, and the caller must re-check. O(locks · log waiters).
--
-- KEYS
--   locks...     three for each lock of each request: STRING holder, until the lease ends; STRING last fencing token,
--                7 days; ZSET waiter -> its place, 60 s from the last arrival or re-check
-- ARGV
--   requests...  six for each: member, leaseMs (ms), mode, isFenced ('1' or '0'), number of locks, number of locks, from the first,
--                that it holds. Fair modes are 'wait' and 'try'; 'barge' and 'grab' do the same past the queue
-- RETURNS
--   now (µs), then for each request: outcome, taken, place, remaining lease (ms, -2 if free), the fencing tokens of all
--   locks that it holds now (0 without fencing). `taken` counts the first locks. Outcomes:
--     1    it holds all locks
--     2    it holds the taken locks, and waits for the next; the place is max(now, last place + 1)
--     0    refused, because of the lock after the taken ones
--     3    refused: it has lost a lock that it should hold, the one after the taken ones
local QUEUE_MS = '60000'

-- include mutex.next-fencing-token.part.lua

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
  -- One command for the usual case of free locks.
  local leasesAndQueues = {}
  for n = first, last, 3 do
    leasesAndQueues[#leasesAndQueues + 1] = KEYS[n]
    leasesAndQueues[#leasesAndQueues + 1] = KEYS[n + 2]
  end
  local isAllFree = held == 0 and redis.call('EXISTS', unpack(leasesAndQueues)) == 0
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
        value = isOwn[n] and redis.call('GET', KEYS[n + 1]) or nextFencingToken(KEYS[n + 1])
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
