-- Retention: by count at least as many as came, by age a few more.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.
local function forget(ids)
  if isExtended then
    beyond.forget(ids)
  else
    redis.call('HDEL', tasks, unpack(ids))
    redis.call('HDEL', attempts, unpack(ids))
  end
end

local function retain()
  if #finished > 0 then
    local kept
    if isKept then
      kept = redis.call('RPUSH', succeeded, unpack(finished))
    else
      forget(finished)
      kept = redis.call('LLEN', succeeded)
    end
    local surplus = math.min(2 * #finished + 8, kept - keepSucceeded)
    if surplus > 0 then
      forget(redis.call('LPOP', succeeded, surplus))
    end
  end
  for _ = 1, MOST_AGED do
    local oldest = redis.call('LINDEX', succeeded, 0)
    local last = oldest and redis.call('HGET', attempts, oldest)
    if not oldest or last and struct.unpack('>d', last, 2) > now - keepSucceededMs then
      break
    end
    forget(redis.call('LPOP', succeeded, 1))
  end
  -- Where there is more than the core, parents die of their children in other calls.
  if hasDied or isExtended then
    local surplus = redis.call('ZCARD', dead) - keepDead
    if surplus > 0 then
      -- At most 600 have died above; an operator may have lowered the limit.
      local oldest = redis.call('ZRANGE', dead, 0, math.min(surplus, 1000) - 1)
      redis.call('ZREM', dead, unpack(oldest))
      forget(oldest)
    end
  end
end
