-- Frees what has expired, then grants from the head of the queue for as long as the head fits: a heavy request at the
-- head holds up the light ones behind it, or it would never get its turn. Returns false if nobody waits and permits
-- may be taken. Expects permits, queue, publish, and what semaphore.change.part.lua declares. O((expired + granted +
-- 1) · log n).
local function pump()
  expire()
  local channels
  for _ = 1, MAX_MOVES do
    if used >= limit or now < lostUntil then return true end
    local head = redis.call('ZRANGE', queue, '0', '0')[1]
    if not head then return false end
    local contender, waiter, claimMs, weight = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([1-9]%d*)$')
    weight = tonumber(weight)
    local isTooHeavy = weight and weight > limit
    if weight and not isTooHeavy and used + weight > limit then return true end
    redis.call('ZREM', queue, head)
    if weight then
      channels = channels or string.gsub(permits, 'permits$', 'permits-grant:')
      local message = isTooHeavy and string.format('%s:!%.0f', waiter, limit)
        or string.format('%s:%.0f:%.0f', waiter, mint(), now)
      -- Nobody listens for one whose process is gone: the next one takes its place.
      if redis.call(publish, channels .. contender, message) > 0 and not isTooHeavy then
        hold(head, now + claimMs * 1000, weight)
      end
    end
  end
  hasMore = true
  return true
end
