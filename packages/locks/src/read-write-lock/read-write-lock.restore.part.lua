-- Restores holders after all keys of the lock were lost (FLUSHALL, a failover). A member with a plausible token counts as a
-- holder: while the token key is missing, nothing was granted since. Expects write, readers, token, isPlausible.

local function isLost(fencingToken)
  return isPlausible(fencingToken) and redis.call('EXISTS', token, readers) == 0
    and (redis.call('GET', write) or 'lost') == 'lost'
end

-- A writer had the lock alone.
local function isLostWriter(fencingToken)
  if not isLost(fencingToken) then return false end
  redis.call('SET', token, fencingToken, 'PX', '604800000')
  return true
end

-- A reader may have shared the lock. The entry 'lost.r' stands for the other readers, who may come back until it expires.
local function restoreReaders(fencingToken, quarantineMs)
  if not isPlausible(fencingToken) then return false end
  if redis.call('ZSCORE', readers, 'lost.r') then
    local last = tonumber(redis.call('GET', token) or 0)
    if tonumber(fencingToken) > last then redis.call('SET', token, fencingToken, 'PX', '604800000') end
    return true
  end
  if not isLost(fencingToken) then return false end
  -- include server.time.part.lua
  local lostMs = math.max(quarantineMs, redis.call('PTTL', write))
  redis.call('ZADD', readers, time[1] * 1000000 + time[2] + lostMs * 1000, 'lost.r')
  redis.call('PEXPIRE', readers, lostMs)
  redis.call('DEL', write)
  redis.call('SET', token, fencingToken, 'PX', '604800000')
  return true
end
