-- The optional features of a fetch: limits, groups, tombstones, events. The script calls them through `optional`. Expects:
-- the prologue of fetcher.fetch-and-ack.lua, and the parts that it includes before this one.
optional = { isOrdered = isOrdered, leaveGroup = leaveGroup, joinGroup = joinGroup, placeGroup = placeGroup }
optional.recordEnd, optional.recordEvent, optional.deleteTasks = recordEnd, recordEvent, deleteTasks
-- Maximum of tombstones that one call removes.
local MOST_TOMBSTONES = 1000
local MOST_LIMITED = '100'

-- Makes groups runnable whose rate allows another task. Returns whether any group is runnable.
function optional.placeLimited()
  for _, group in ipairs(redis.call('ZRANGE', limitedGroups, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_LIMITED)) do
    redis.call('ZREM', limitedGroups, group)
    groupState(group)
  end
  placeGroups()
  return redis.call('EXISTS', runnableGroups) == 1
end

local rateInterval, rateBurst, usedUntil
local function saveRate()
  local ms = math.max(1, math.ceil(usedUntil - now))
  redis.call('SET', rate, string.format('%.3f', usedUntil), 'PX', string.format('%.0f', ms))
end

-- How many of `want` tasks the limits of the queue allow now.
function optional.allowed(want)
  if string.find(expectedSettings, ';paused=1', 1, true) then
    want = 0
  end
  -- Each shard has an equal share of the limits of the queue.
  local shards = tonumber(string.match(expectedSettings, ';shards=(%d+)')) or 1
  local concurrency = tonumber(string.match(expectedSettings, ';conc=(%d+)'))
  if concurrency then
    want = math.max(0, math.min(want, math.floor(concurrency / shards) - redis.call('ZCARD', active)))
  end
  local limit, period, burst = string.match(expectedSettings, ';rate=(%d+)/(%d+)/(%d+)')
  if limit then
    rateInterval, rateBurst = shards * period / limit, math.max(1, math.floor(burst / shards))
    usedUntil = math.max(tonumber(redis.call('GET', rate) or 0), nowUs / 1000)
    local mostUsed = nowUs / 1000 + rateBurst * rateInterval
    if usedUntil > mostUsed then
      -- Usage under another rate must not delay longer than this rate could.
      usedUntil = mostUsed
      saveRate()
    end
    want = math.min(want, math.floor((nowUs / 1000 - usedUntil) / rateInterval + rateBurst + 0.000001))
  end
  return want
end

-- Counts the fetched tasks. Returns when the rate allows more, if the rate blocks.
function optional.started(fetched, isBlocked)
  placeGroups()
  if not rateInterval then
    return math.huge
  end
  usedUntil = usedUntil + fetched * rateInterval
  if fetched > 0 then
    saveRate()
  end
  local freeAt = usedUntil - (rateBurst - 1) * rateInterval
  return isBlocked and freeAt > now and freeAt or math.huge
end

local hasTombstones = redis.call('EXISTS', tombstones) == 1

-- Pops ids of a priority, without the tombstones of cancelled and removed tasks. Returns the ids, and whether there are so
-- many tombstones that the next call has to continue.
function optional.popReady(key, priority, most)
  local char, kept, removed = string.char(48 + priority), {}, 0
  while true do
    local ids = redis.call('LPOP', key, most - #kept) or {}
    if not hasTombstones then
      for _, id in ipairs(ids) do
        kept[#kept + 1] = id
      end
      return kept, false
    end
    if #ids == 0 then
      return kept, false
    end
    -- An id may occur twice: as a tombstone, and as a task that was enqueued later.
    local voids, before = {}, removed
    for i, voided in ipairs(redis.call('HMGET', tombstones, unpack(ids))) do
      voids[ids[i]] = voided
    end
    for _, id in ipairs(ids) do
      local voided = voids[id]
      local at = voided and string.find(voided, char, 1, true)
      if at then
        removed = removed + 1
        voids[id] = string.sub(voided, 1, at - 1) .. string.sub(voided, at + 1)
        if voids[id] == '' then
          redis.call('HDEL', tombstones, id)
        else
          redis.call('HSET', tombstones, id, voids[id])
        end
      else
        kept[#kept + 1] = id
      end
    end
    if removed > before and redis.call('HINCRBY', tombstones, char, before - removed) <= 0 then
      redis.call('HDEL', tombstones, char)
      hasTombstones = redis.call('EXISTS', tombstones) == 1
    end
    if #kept == most then
      return kept, false
    elseif removed >= MOST_TOMBSTONES then
      return kept, true
    end
  end
end

-- Takes the first task of the next group in this priority. Returns its id, record, attempts so far, group, and entry of
-- attempts; nil if no group may run.
function optional.nextOfGroups(priority)
  while true do
    local first = redis.call('ZRANGE', runnableGroups, 0, 0, 'WITHSCORES')
    if not first[1] or math.floor(first[2] / ORDERS_PER_PRIORITY) ~= priority then
      return nil
    end
    local group = first[1]
    local state, head, id, record, last, before = groupState(group), headOf(group), nil, nil, nil, 0
    if isGroupLimited(state) then
      -- The group was placed under other limits.
      head = nil
    elseif not head then
      state[1] = 0
    else
      id = string.sub(head, #group + 12)
      redis.call('ZREM', grouped, head)
      state[1] = math.max(0, state[1] - 1)
      record = redis.call('HGET', tasks, id)
      last = redis.call('HGET', attempts, id)
      if last then
        local _
        _, before = struct.unpack('>dH', last, 2)
      end
    end
    if record then
      state[2] = state[2] + 1
      if groupInterval then
        state[3] = math.max(state[3], now) + groupInterval
      end
    end
    placeGroup(group, true)
    if record then
      return id, record, before, group, last
    end
  end
end

-- Publishes the events. Returns the maintenance that is due: 1 a schedule + 2 the outbox.
function optional.publish()
  saveGroupOrder()
  publishEnds()
  publishEvents()
  local due = redis.call('ZRANGE', dueSchedules, 0, 0, 'WITHSCORES')[2]
  return (due and tonumber(due) <= now and 1 or 0) + (isOutboxDue() and 2 or 0)
end
