-- The beginning of the scripts that change a semaphore; semaphore.save.part.lua is their end. Expects permits and the
-- locals of semaphore.state.part.lua. The other parts are inline code, because nine closures cost 1.3 µs a call.
local KEEP_MS = '604800000'
-- Maximum of permits that one call frees or grants. Callers continue while there are more.
local MAX_MOVES = 100
-- `hasNewPermits`: leases are new or longer.
local isChanged, hasNewPermits, hasMore = false, false, false
-- When the first lease ends, if known.
local firstEnd
-- Uncounted permits would be held in vain. Their holders come back like lost ones.
if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end

local function nextFencingToken()
  token = math.max(now, token) + 1
  return token
end

-- Returns false for an existing holder.
local function hold(member, ends, weight)
  if redis.call('ZADD', permits, 'NX', ends, member) == 0 then return false end
  used, isChanged, hasNewPermits = used + weight, true, true
  firstEnd = firstEnd and math.min(firstEnd, ends)
  return true
end
