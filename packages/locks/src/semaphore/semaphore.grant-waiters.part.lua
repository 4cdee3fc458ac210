-- Grants permits to the head of the queue while the head fits. A heavy request at the head blocks the light ones after it,
-- since it would never fit otherwise. Include it after semaphore.expire.part.lua. Expects permits, queue, publish,
-- isListening and isQueued, which becomes false if nobody waits and permits may be taken. O((granted + 1) · log n).
isQueued = true
local moves, channels = 0, nil
while used < limit and now >= lostUntil do
  local head = redis.call('ZRANGE', queue, '0', '0')[1]
  isQueued = head ~= nil
  if not isQueued then break end
  hasMore = hasMore or moves == MAX_MOVES
  if moves == MAX_MOVES then break end
  moves = moves + 1
  local client, acquisition, confirmMs, weight = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([1-9]%d*)$')
  weight = tonumber(weight)
  local isTooHeavy = weight and weight > limit
  if weight and not isTooHeavy and used + weight > limit then break end
  redis.call('ZREM', queue, head)
  if weight then
    channels = channels or string.gsub(permits, 'permits$', 'permits-grant:')
    -- A dead waiter has no listener: the next one gets the permits.
    if isListening(channels .. client) then
      local message = isTooHeavy and string.format('%s:!%.0f', acquisition, limit)
        or string.format('%s:%.0f:%.0f:%s.%.0f', acquisition, nextFencingToken(), now, confirmMs, weight)
      redis.call(publish, channels .. client, message)
      if not isTooHeavy then hold(head, now + confirmMs * 1000, weight) end
    end
  end
end
