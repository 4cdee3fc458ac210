-- Who waits, and who keeps the time.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.

-- The next instant at which something can be taken that cannot be now, or a lease ends; math.huge when there is none.
local function nextInstant()
  local earliest = math.huge
  local function look(key)
    local head = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if head[2] then
      earliest = math.min(earliest, tonumber(head[2]))
    end
  end
  look(active)
  if isExtended then
    local fires = redis.call('ZRANGE', firing, 0, 0, 'WITHSCORES')[2]
    -- Of schedules that are due this worker is told below, and asks again when it has fired them.
    if fires and tonumber(fires) > now then
      earliest = math.min(earliest, tonumber(fires))
    end
    earliest = math.min(earliest, rateFreeAt)
    if isBlocked then
      -- What falls due has to wait for something else, whose end is an exchange of whoever ends it.
      return earliest
    end
    look(resting)
  end
  if hasDelayed then
    for lane = 0, laneCount - 1 do
      look(laneKeys[3 * lane + 2])
      look(laneKeys[3 * lane + 3])
    end
  end
  return earliest
end

-- The instant that is timed, and by whom; math.huge and nil when nobody does.
local function timing()
  local due, keeper = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
  return tonumber(due) or math.huge, keeper
end

-- Nothing more to take: the worker sleeps until it is woken. Returns for how long, -1 when another one keeps the time.
local function park()
  redis.call('ZREMRANGEBYSCORE', idle, '-inf', now)
  redis.call('ZADD', idle, now + parkMs, channel)
  redis.call('PEXPIRE', idle, PARKED_KEYS_MS)
  local nextAt = nextInstant()
  local due, keeper = timing()
  local isTimed = keeper and keeper ~= channel and due <= nextAt and redis.call('ZSCORE', idle, keeper)
  if not isTimed and nextAt < math.huge then
    redis.call('SET', timekeeper, string.format('%.0f %s', nextAt, channel), 'PX', PARKED_KEYS_MS)
    return math.ceil(math.max(0, nextAt - now))
  elseif not isTimed and keeper then
    -- What was timed is past: it must not stand in the way of what comes.
    redis.call('DEL', timekeeper)
  end
  return -1
end

-- Full, or leaving: others take what is left, and the time. Where nobody is parked there is nobody to tell, and who
-- parks next sees that an old timekeeper is not parked.
local function passOn()
  if redis.call('EXISTS', idle) == 0 then
    return
  end
  redis.call('ZREM', idle, channel)
  local nextAt = nextInstant()
  local due, keeper = timing()
  if keeper == channel then
    redis.call('DEL', timekeeper)
    due = math.huge
  end
  local hasMore = not isBlocked
    and (redis.call('EXISTS', unpack(ready)) > 0 or isExtended and redis.call('EXISTS', turns) == 1)
  -- Who leaves fires no schedules.
  local fires = isExtended and redis.call('ZRANGE', firing, 0, 0, 'WITHSCORES')[2]
  hasMore = hasMore or fires and tonumber(fires) <= now
  if nextAt <= now or hasMore then
    wake(2)
  elseif nextAt < due then
    wake(1)
  end
end
