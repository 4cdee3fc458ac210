-- Gives a lock to the first waiter that is alive, or frees it. Expects publish, clockText and mint.
local function handOn(lease, token, queue, isFair)
  -- What one call may drop of waiters whose process is gone; the next re-check goes on.
  local MAX_DEAD = 100
  local channels = string.sub(lease, 1, -6) .. 'grant:'
  local grant = ''
  if isFair then
    grant = mint(token) .. ':' .. clockText()
  else
    redis.call('DEL', lease)
  end
  for _ = 1, MAX_DEAD do
    local head = redis.call('ZRANGE', queue, '0', '0')[1]
    if not head then break end
    local contender, waiter, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')
    local isAlive = contender and redis.call(publish, channels .. contender, waiter .. ':' .. grant) > 0
    if isAlive and not isFair then return end
    redis.call('ZREM', queue, head)
    if isAlive then
      redis.call('SET', lease, head, 'PX', claimMs)
      return
    end
  end
  redis.call('DEL', lease)
end
