-- Groups. A waiting task with a group is a member of the sorted set `grouped`, whose scores are all 0:
--
--   u16 length · group · u8 priority · f64 sequence · id
--
-- So the tasks of a group are neighbours, by priority and then in order. `attempts` has the sequence (state Q), to find a
-- task by its id. `groups` has for each group the number of waiting and active tasks, and until when its rate is used up
-- (GCRA). Its field '' holds the last sequence and order. A group that may run is in `runnableGroups`, by priority and then
-- by its order; one over its rate limit is in `limitedGroups`. A served group gets a new order, the last of its priority:
-- so groups take turns, however many tasks each has. Expects: usesOptional, attempts, grouped, groups, runnableGroups,
-- limitedGroups, expectedSettings, now.
local ORDERS_PER_PRIORITY = 35184372088832
local groupConcurrency, isOrdered, groupInterval, groupSlack
if usesOptional then
  groupConcurrency = tonumber(string.match(expectedSettings, ';gconc=(%d+)'))
  isOrdered = string.find(expectedSettings, ';ordered=1', 1, true) ~= nil
  if isOrdered then
    groupConcurrency = 1
  end
  -- A group lies in one shard, so its limits are whole there.
  local limit, period, burst = string.match(expectedSettings, ';grate=(%d+)/(%d+)/(%d+)')
  if limit then
    groupInterval = period / limit
    groupSlack = (burst - 1) * groupInterval
  end
end

local groupStates, touchedGroups, nextOrder, lastOrder = {}, {}, nil, nil

-- Counted in memory; `saveGroupOrder` stores the last one.
local function nextGroupOrder()
  nextOrder = nextOrder or tonumber(redis.call('HGET', groups, '') or 0)
  nextOrder = nextOrder + 1
  lastOrder = nextOrder
  return nextOrder
end

local function saveGroupOrder()
  if lastOrder then
    redis.call('HSET', groups, '', string.format('%.0f', lastOrder))
  end
end

local function groupState(group)
  local state = groupStates[group]
  if not state then
    state = { 0, 0, 0 }
    local packed = redis.call('HGET', groups, group)
    if packed then
      state[1], state[2], state[3] = struct.unpack('>IId', packed)
    end
    groupStates[group] = state
    touchedGroups[#touchedGroups + 1] = group
  end
  return state
end

local function groupPrefix(group)
  return struct.pack('>H', #group) .. group
end

-- The first waiting task of a group, as a member of `grouped`; nil without one.
local function headOf(group)
  local prefix = groupPrefix(group)
  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\255', 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- Whether the limits of groups forbid a start now.
local function isGroupLimited(state)
  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now
end

-- Stores the state of a group, and puts it into the right set. A served group gets a new order.
local function placeGroup(group, wasServed)
  local state = groupState(group)
  if groupInterval then
    -- Usage under an earlier rate must not block for longer than the present rate could.
    state[3] = math.min(state[3], now + groupSlack + groupInterval)
  end
  local waiting, running, usedUntil = state[1], state[2], state[3]
  local restUntil = groupInterval and usedUntil - groupSlack or 0
  if waiting == 0 and running == 0 and restUntil <= now then
    redis.call('HDEL', groups, group)
    redis.call('ZREM', runnableGroups, group)
    redis.call('ZREM', limitedGroups, group)
    return
  end
  redis.call('HSET', groups, group, struct.pack('>IId', waiting, running, usedUntil))
  if restUntil > now then
    -- Stored also without waiting tasks: the state is deleted when the limit no longer holds.
    redis.call('ZADD', limitedGroups, restUntil, group)
    redis.call('ZREM', runnableGroups, group)
  elseif waiting == 0 or groupConcurrency and running >= groupConcurrency then
    redis.call('ZREM', runnableGroups, group)
  else
    local head = headOf(group)
    local priority = head and string.byte(head, #group + 3) or 0
    if wasServed then
      redis.call('ZADD', runnableGroups, string.format('%.0f', priority * ORDERS_PER_PRIORITY + nextGroupOrder()), group)
    else
      local score = redis.call('ZSCORE', runnableGroups, group)
      if not score or math.floor(score / ORDERS_PER_PRIORITY) ~= priority then
        redis.call('ZADD', runnableGroups, string.format('%.0f', priority * ORDERS_PER_PRIORITY + nextGroupOrder()), group)
      end
    end
  end
end

-- Adds a task to its group. `ahead`: the instant at which a delayed task was due; such tasks go before others. `mark`: the
-- data of a handed-back task, or nil.
local function joinGroup(group, priority, id, attempt, ahead, mark)
  local sequence = ahead and ahead / 9007199254740992 or nextGroupOrder()
  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', priority, sequence) .. id)
  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt) .. (mark or ''))
  local state = groupState(group)
  state[1] = state[1] + 1
end

-- Removes a waiting task (state Q, `last` of `attempts`) from its group.
local function quitGroup(group, priority, id, last)
  local sequence = struct.unpack('>d', last, 2)
  local state = groupState(group)
  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', priority, sequence) .. id) == 1 then
    state[1] = math.max(0, state[1] - 1)
  end
end

-- Counts a task of the group as ended, and releases the group if the task held it.
local function leaveGroup(group)
  local state = groupState(group)
  state[2] = math.max(0, state[2] - 1)
end

-- Places all changed groups. Call once, after the last change without a `placeGroup` of its own.
local function placeGroups()
  for _, group in ipairs(touchedGroups) do
    placeGroup(group, false)
  end
  saveGroupOrder()
end
