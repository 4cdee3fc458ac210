-- Registers an idle worker, or removes the registration of a full one, and finds the next due time. Expects: the prologue
-- of fetcher.fetch-and-ack.lua, its sections before this one, and task.wake.part.lua.
local KEPT_MS = '60000'
-- A registration lasts longer than the longest pause, by this time.
local GRACE_MS = 1000

-- The next instant at which more can be fetched or a lease ends; math.huge if there is none.
local function nextInstant()
  local earliest = math.huge
  local function look(key)
    local first = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')
    local at = tonumber(first[2])
    if at and key == active and at <= now then
      -- The maintainer returns that task to the queue and wakes a worker.
      hasEndedLease = true
    elseif at then
      earliest = math.min(earliest, at)
    end
  end
  look(active)
  if usesOptional then
    local fires = redis.call('ZRANGE', dueSchedules, 0, 0, 'WITHSCORES')[2]
    -- Due schedules are maintenance: this worker fetches again after enqueuing their tasks.
    if fires and tonumber(fires) > now then
      earliest = math.min(earliest, tonumber(fires))
    end
    earliest = math.min(earliest, rateFreeAt)
    if isBlocked and not afterRanks then
      -- Due tasks wait for the end of a running one, which is a call of another worker.
      return earliest
    elseif not isBlocked then
      look(limitedGroups)
    end
  end
  if hasDelayed then
    for priority = 0, priorityCount - 1 do
      if isBlocked then
        -- Due tasks are placed, although nobody may fetch them.
        local key = priorityKeys[3 * priority + 2]
        local at = redis.call('ZRANGE', key, afterRanks, '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')[2]
        earliest = math.min(earliest, tonumber(at) or math.huge)
      else
        look(priorityKeys[3 * priority + 2])
        look(priorityKeys[3 * priority + 3])
      end
    end
  end
  return earliest
end

-- The instant of the timer and the timekeeper; math.huge and nil without one.
local function timing()
  local due, keeper = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
  return tonumber(due) or math.huge, keeper
end

if isIdle then
  redis.call('ZREMRANGEBYSCORE', idle, '-inf', string.format('%.0f', now))
  redis.call('ZADD', idle, string.format('%.0f', now + idleMs), member)
  redis.call('PEXPIRE', idle, KEPT_MS)
  local nextAt = nextInstant()
  local due, keeper = timing()
  local isTimed = keeper and keeper ~= member and due <= nextAt and redis.call('ZSCORE', idle, keeper)
  if not isTimed and keepsTime == '2' and nextAt < math.huge then
    -- This call hands tasks back that its worker has no handler for. As the timekeeper it would fetch them again, so it wakes
    -- another idle worker, which becomes the timekeeper with its call.
    redis.call('ZREM', idle, member)
    isTimed = wake(1) > 0
    redis.call('ZADD', idle, string.format('%.0f', now + idleMs), member)
    redis.call('PEXPIRE', idle, KEPT_MS)
    if isTimed and keeper then
      redis.call('DEL', timekeeper)
    end
  end
  if not isTimed and nextAt < math.huge then
    redis.call('SET', timekeeper, string.format('%.3f %s', nextAt, member), 'PX', KEPT_MS)
    reply[2] = nextAt > now and math.max(1, math.ceil(nextAt * 1000 - nowUs)) or 0
  else
    if not isTimed and keeper then
      -- The instant is past: it must not hide later ones.
      redis.call('DEL', timekeeper)
    end
    -- The timekeeper may die. Together, the other idle workers look once in recheckMs, and soon after something was due.
    local others = redis.call('ZCARD', idle) - 1
    local quietMs = math.max(recheckMs, idleMs - GRACE_MS)
    if others > 0 then
      quietMs = math.min(quietMs, others * recheckMs)
    end
    local overdueMs = nextAt - now + 500 + nowUs % 500
    if overdueMs < quietMs then
      reply[2] = math.floor(math.max(recheckMs, overdueMs) * 1000)
    else
      reply[2] = -quietMs * 1000
    end
  end
else
  -- Full or leaving: other workers fetch the rest, and one becomes the timekeeper.
  redis.call('ZREM', idle, member)
  local nextAt = nextInstant()
  local due, keeper = timing()
  if keeper == member then
    redis.call('DEL', timekeeper)
    due = math.huge
  end
  local hasMore = hasEndedLease
  for priority = 0, isBlocked and -1 or priorityCount - 1 do
    hasMore = hasMore or redis.call('EXISTS', priorityKeys[3 * priority + 1]) == 1
  end
  if usesOptional then
    local fires = redis.call('ZRANGE', dueSchedules, '0', '0', 'WITHSCORES')[2]
    hasMore = hasMore
      or not isBlocked and redis.call('EXISTS', runnableGroups) == 1
      -- A leaving worker runs no schedules.
      or fires and tonumber(fires) <= now
  end
  if nextAt <= now or hasMore then
    wake(2)
  elseif nextAt < due then
    wake(1)
  end
end
