-- Who waits, and who keeps the time.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.

local PARKED_KEYS_MS = '60000'

-- The next instant at which something can be taken that cannot be now, or a lease ends; math.huge when there is none.
local function nextInstant()
  local earliest = math.huge
  local function look(key)
    local head = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')
    if head[2] then
      earliest = math.min(earliest, tonumber(head[2]))
    end
  end
  look(active)
  if usesOptional then
    local fires = redis.call('ZRANGE', dueSchedules, 0, 0, 'WITHSCORES')[2]
    -- Of schedules that are due this worker is told below, and asks again when it has fired them.
    if fires and tonumber(fires) > now then
      earliest = math.min(earliest, tonumber(fires))
    end
    earliest = math.min(earliest, rateFreeAt)
    if isBlocked then
      -- What falls due has to wait for something else, whose end is an exchange of whoever ends it.
      return earliest
    end
    look(limitedGroups)
  end
  if hasDelayed then
    for priority = 0, priorityCount - 1 do
      look(priorityKeys[3 * priority + 2])
      look(priorityKeys[3 * priority + 3])
    end
  end
  return earliest
end

-- The instant that is timed, and by whom; math.huge and nil when nobody does.
local function timing()
  local due, keeper = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
  return tonumber(due) or math.huge, keeper
end

local nextAt
if parks then
  -- Nothing more to take: the worker sleeps until it is woken, or for so long; -1 when another one keeps the time.
  redis.call('ZREMRANGEBYSCORE', idle, '-inf', string.format('%.0f', now))
  redis.call('ZADD', idle, string.format('%.1f', now + parkMs), channel)
  redis.call('PEXPIRE', idle, PARKED_KEYS_MS)
  nextAt = nextInstant()
  local due, keeper = timing()
  local isTimed = keeper and keeper ~= channel and due <= nextAt and redis.call('ZSCORE', idle, keeper)
  if not isTimed and nextAt < math.huge then
    redis.call('SET', timekeeper, string.format('%.3f %s', nextAt, channel), 'PX', PARKED_KEYS_MS)
    reply[2] = nextAt > now and math.max(1, math.ceil(nextAt * 1000 - nowUs)) or 0
  elseif not isTimed and keeper then
    -- What was timed is past: it must not stand in the way of what comes.
    redis.call('DEL', timekeeper)
  end
else
  -- Full, or leaving: others take what is left, and the time.
  redis.call('ZREM', idle, channel)
  nextAt = nextInstant()
  local due, keeper = timing()
  if keeper == channel then
    redis.call('DEL', timekeeper)
    due = math.huge
  end
  local hasMore = false
  for priority = 0, isBlocked and -1 or priorityCount - 1 do
    hasMore = hasMore or redis.call('EXISTS', priorityKeys[3 * priority + 1]) == 1
  end
  if usesOptional then
    local fires = redis.call('ZRANGE', dueSchedules, '0', '0', 'WITHSCORES')[2]
    hasMore = hasMore
      or not isBlocked and redis.call('EXISTS', runnableGroups) == 1
      -- Who leaves fires no schedules.
      or fires and tonumber(fires) <= now
  end
  if nextAt <= now or hasMore then
    wake(2)
  elseif nextAt < due then
    wake(1)
  end
end
