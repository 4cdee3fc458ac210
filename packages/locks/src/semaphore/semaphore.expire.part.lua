-- Frees expired permits. Expects permits and the locals of semaphore.change.part.lua.
clock()
firstEnd = used > 0 and tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])
if firstEnd == nil then
  -- The permits were lost but the state was not: nothing is granted for a default lease, or until their holders have
  -- reported.
  used, began, lostUntil, reported, isChanged = 0, now, now + 10000000, 0, true
elseif firstEnd and firstEnd <= now then
  firstEnd = nil
  local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', MAX_MOVES)
  redis.call('ZREM', permits, unpack(ended))
  for _, member in ipairs(ended) do used = math.max(0, used - weightOf(member)) end
  isChanged, hasMore = true, #ended == MAX_MOVES
end
