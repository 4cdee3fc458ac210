-- Grants a lock to the first waiter whose client listens, or frees the lock. The message is
-- `<acquisition>:<token>:<now µs>:<confirmMs>`; without a token it only wakes the waiter. Expects publish, isListening,
-- clockText and nextFencingToken. tooling/models/mutex.pml is a model of it.
local function grantNext(lease, token, queue, isFair)
  -- Maximum of dead waiters that one call drops. The next re-check continues.
  local MAX_DEAD = 100
  local channels = string.sub(lease, 1, -6) .. 'grant:'
  if not isFair then redis.call('DEL', lease) end
  for _ = 1, MAX_DEAD do
    local head = redis.call('ZRANGE', queue, '0', '0')[1]
    if not head then break end
    local client, acquisition, confirmMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')
    if client and isListening(channels .. client) then
      local fencingToken = isFair and nextFencingToken(token) or ''
      local message = acquisition .. ':' .. fencingToken .. ':' .. clockText() .. ':' .. confirmMs
      redis.call(publish, channels .. client, message)
      if not isFair then return end
      redis.call('SET', lease, head, 'PX', confirmMs)
      redis.call('ZREM', queue, head)
      return
    end
    redis.call('ZREM', queue, head)
  end
  redis.call('DEL', lease)
end
