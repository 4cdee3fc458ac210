-- Groups. A waiting task with a group stands in the sorted set `grouped`, all scores 0, as
--
--   u16 length · group · u8 priority · f64 sequence · id
--
-- so that the tasks of a group are next to each other, by priority and then in order; `attempts` has the sequence (state Q), so
-- that it can be found from its id. `groups` has for each group how many wait, how many run, and until when its rate is
-- used up (GCRA); its field '' is the counter of sequences and turns. A group that may run stands in `turns` under its turn,
-- that of a priority before those of later priorities; one that has used up its rate stands in `limitedGroups`. Who was served goes to the
-- end of its priority, so groups take turns however much each has waiting.
-- Expects: usesOptional, attempts, grouped, groups, runnableGroups, limitedGroups, expectedSettings, now.
local ORDERS_PER_PRIORITY = 35184372088832
local groupConcurrency, isOrdered, groupInterval, groupSlack
if usesOptional then
  groupConcurrency = tonumber(string.match(expectedSettings, ';gconc=(%d+)'))
  isOrdered = string.find(expectedSettings, ';ordered=1', 1, true) ~= nil
  if isOrdered then
    groupConcurrency = 1
  end
  local limit, period, burst = string.match(expectedSettings, ';grate=(%d+)/(%d+)/(%d+)')
  if limit then
    groupInterval = period / limit
    groupSlack = (burst - 1) * groupInterval
  end
end

local groupStates, touchedGroups, nextOrder, lastOrder = {}, {}, nil, nil

-- Turns are drawn from memory; `saveGroupOrder` writes the last one.
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

-- The first waiting task of a group as `grouped` has it, or nil.
local function headOf(group)
  local prefix = groupPrefix(group)
  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\255', 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- Whether the limits of groups say that none of it may start now.
local function isGroupLimited(state)
  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now
end

-- Stores what has become of a group, and puts it where it belongs. Its turn is a new one when it was served.
local function placeGroup(group, wasServed)
  local state = groupState(group)
  if groupInterval then
    -- What was used under another rate must not stand in the way for longer than this one allows.
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
    -- Also where nothing waits: the state is dropped when the rest is over.
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

-- A task begins to wait in its group. `ahead`: the instant at which it fell due; it goes before those that came without.
local function joinGroup(group, priority, id, attempt, ahead)
  local sequence = ahead and ahead / 9007199254740992 or nextGroupOrder()
  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', priority, sequence) .. id)
  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt))
  local state = groupState(group)
  state[1] = state[1] + 1
end

-- A waiting task (state Q, `last` of `attempts`) is taken out of its group.
local function quitGroup(group, priority, id, last)
  local sequence = struct.unpack('>d', last, 2)
  local state = groupState(group)
  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', priority, sequence) .. id) == 1 then
    state[1] = math.max(0, state[1] - 1)
  end
end

-- A task of the group no longer runs, nor holds it.
local function leaveGroup(group)
  local state = groupState(group)
  state[2] = math.max(0, state[2] - 1)
end

-- Places all groups that were changed; to be called once, after the last change that is not followed by `placeGroup`.
local function placeGroups()
  for _, group in ipairs(touchedGroups) do
    placeGroup(group, false)
  end
  saveGroupOrder()
end
