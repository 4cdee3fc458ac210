-- The time until the next permit may become free: ms, -1 if this call left something to do, -2 if all are free. Expects
-- permits and the locals of semaphore.change.part.lua.
local remainingMs = -2
if hasMore then
  remainingMs = -1
elseif now < lostUntil then
  remainingMs = math.ceil((lostUntil - now) / 1000)
else
  firstEnd = firstEnd or tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])
  if firstEnd then remainingMs = math.ceil((firstEnd - now) / 1000) end
end
