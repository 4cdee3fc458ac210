-- What those scripts begin with that change a semaphore; semaphore.save.part.lua ends them. Expects permits, and what
-- semaphore.state.part.lua declares. Parts that are needed once are no functions: nine closures cost 1.3 µs a call.
local KEEP_MS = '604800000'
-- What one call may free or grant; callers go on while there is more.
local MAX_MOVES = 100
-- `hasNewPermits`: leases are new or longer.
local isChanged, hasNewPermits, hasMore = false, false, false
-- When the first lease ends, if that is known.
local firstEnd
-- Those that were not counted would be held for nothing; they come back as lost ones do.
if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end

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
