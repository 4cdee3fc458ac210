-- Gives a lock to the first waiter that is alive, or frees it. Expects publish, isHeard, clockText and mint. The message is
-- `<turn>:<token>:<now µs>:<claim ms>`; for a waiter that is only woken, without token.
local function handOn(lease, token, queue, isFair)
  -- What one call may drop of waiters whose process is gone; the next re-check goes on.
  local MAX_DEAD = 100
  local channels = string.sub(lease, 1, -6) .. 'grant:'
  if not isFair then redis.call('DEL', lease) end
  for _ = 1, MAX_DEAD do
    local head = redis.call('ZRANGE', queue, '0', '0')[1]
    if not head then break end
    local contender, turn, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')
    local isAlive = contender and isHeard(channels .. contender)
    if isAlive then
      local minted = isFair and mint(token) or ''
      redis.call(publish, channels .. contender, turn .. ':' .. minted .. ':' .. clockText() .. ':' .. claimMs)
      if not isFair then return end
      redis.call('SET', lease, head, 'PX', claimMs)
      redis.call('ZREM', queue, head)
      return
    end
    redis.call('ZREM', queue, head)
  end
  redis.call('DEL', lease)
end
