-- What changes the state; `hasNewPermits` says that leases are new or longer. Expects permits, state, and what
-- semaphore.state.part.lua declares.
local KEEP_MS = '604800000'
-- What one call may free or grant; callers go on while there is more.
local MAX_MOVES = 100
local isChanged, hasNewPermits, hasMore = false, false, false
-- When the first lease ends, if that is known.
local firstEnd
-- For how long nothing is granted when the permits are gone without the state: the default lease.
local LOST_US = 10000000
-- Those that were not counted would be held for nothing; they come back as lost ones do.
if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end

-- Frees the permits whose leases are over.
local function expire()
  clock()
  if used == 0 then return end
  firstEnd = tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])
  if not firstEnd then
    used, began, lostUntil, heard, isChanged = 0, now, now + LOST_US, 0, true
  elseif firstEnd <= now then
    firstEnd = nil
    local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', MAX_MOVES)
    redis.call('ZREM', permits, unpack(ended))
    for _, member in ipairs(ended) do used = math.max(0, used - weightOf(member)) end
    isChanged, hasMore = true, #ended == MAX_MOVES
  end
end

-- Whether a stamp (token or place) proves that the state which it was given by was lost. Then there may be holders that
-- nobody knows: nothing is granted until as many permits as there are were heard of (weight: how many are, with this), or
-- until the leases of their holders, taken to be as long as this one, must be over.
local function isWitness(stamp, leaseMs, weight)
  if stamp == 0 or not (isFresh or stamp < began) then return false end
  clock()
  local till = began + leaseMs * 1000
  if till <= now then return false end
  token, heard, isChanged = math.max(token, stamp), heard + weight, true
  lostUntil = (limit == 0 or heard < limit) and math.max(lostUntil, till) or 0
  return true
end

local function mint()
  token = math.max(now, token) + 1
  return token
end

-- Returns false for one that holds already.
local function hold(member, ends, weight)
  if redis.call('ZADD', permits, 'NX', ends, member) == 0 then return false end
  used, isChanged, hasNewPermits = used + weight, true, true
  firstEnd = firstEnd and math.min(firstEnd, ends)
  return true
end

local function save()
  if not isChanged then return end
  local packed = cmsgpack.pack(limit, used, token, at, ahead, began, lostUntil, heard)
  if hasNewPermits or isNew then
    redis.call('SET', state, packed, 'PX', KEEP_MS)
  else
    redis.call('SET', state, packed, 'KEEPTTL')
  end
  if hasNewPermits then redis.call('PEXPIRE', permits, KEEP_MS) end
end

-- When the next permit may come free: ms, -1 if this call left something to do, -2 if all are free.
local function remaining()
  if hasMore then return -1 end
  if clock() < lostUntil then return math.ceil((lostUntil - now) / 1000) end
  firstEnd = firstEnd or tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])
  return firstEnd and math.ceil((firstEnd - now) / 1000) or -2
end
