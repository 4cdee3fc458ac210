-- Settles: says what became of tasks, and puts back what dead workers held.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.

-- Operands of HSET: what is to be said of attempts.
local changed = {}
local function change(id, last)
  changed[#changed + 1] = id
  changed[#changed + 1] = last
end

local function saveChanges()
  if #changed > 0 then
    redis.call('HSET', attempts, unpack(changed))
    changed = {}
  end
end

local function ended(state, attempt, data)
  return state .. struct.pack('>dH', now, attempt) .. data
end

-- In these, `flags` is the first byte of the record, `group` is '' for a task without one.
local hasDied = false
local function bury(id, flags, group, attempt, reason)
  local last = ended('D', attempt, reason)
  change(id, last)
  redis.call('ZADD', dead, now, id)
  hasDied = true
  if isExtended then
    if group ~= '' then
      beyond.leaveGroup(group)
    end
    beyond.finish(id, flags, last)
    beyond.happen('D', id, last)
  end
end

local function putBack(id, flags, group, at, attempt, reason)
  local state = 'R'
  if group ~= '' then
    if beyond.isOrdered then
      state = 'H'
    else
      beyond.leaveGroup(group)
    end
  end
  local last = ended(state, attempt, reason)
  change(id, last)
  redis.call('ZADD', laneKeys[3 * (flags % LANES) + 3], at, id)
  if isExtended then
    beyond.happen(state, id, last)
  end
end

-- Neighbours are often the same in all but the id (taken in one call, without a result): those are not taken apart again.
local settled, left, finished = {}, {}, {}
local isKept = keepSucceeded > 0 and keepSucceededMs > 0
local function settle(ids, tellings)
  local toldBefore, verdict, given, delay, data
  local lastBefore, state, held, attempt, flags, most, group
  local success
  for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do
    local id, told = ids[i], tellings[i]
    if told ~= toldBefore or last ~= lastBefore then
      local at
      verdict, given, delay, at = struct.unpack('>c1Id', told)
      data = string.sub(told, at)
      state = string.sub(last or '', 1, 1)
      if state == 'A' then
        state, held, attempt, flags, most, at = struct.unpack('>c1IHBH', last)
        group = string.sub(last, at)
        success = ended('S', attempt, data)
      end
      toldBefore, lastBefore = told, last
    end
    if state == 'A' and held == given then
      settled[i] = '1'
      left[#left + 1] = id
      if verdict == 'S' then
        finished[#finished + 1] = id
        if isKept then
          change(id, success)
        end
        if isExtended then
          if group ~= '' then
            beyond.leaveGroup(group)
          end
          beyond.finish(id, flags, success)
          beyond.happen('S', id, success)
        end
      elseif verdict == 'D' then
        bury(id, flags, group, attempt, data)
      else
        putBack(id, flags, group, now + delay, verdict == 'R' and attempt or attempt - 1, data)
      end
    else
      settled[i] = state == 'C' and 'C' or '0'
    end
  end
end

-- Due now, so ahead of the ready tasks of their lane.
local function recover()
  local expired = redis.call('ZRANGE', active, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_RECOVERED)
  if #expired == 0 then
    return
  end
  redis.call('ZREM', active, unpack(expired))
  for i, last in ipairs(redis.call('HMGET', attempts, unpack(expired))) do
    if last and string.sub(last, 1, 1) == 'A' then
      local _, _, attempt, flags, most, at = struct.unpack('>c1IHBH', last)
      local group = string.sub(last, at)
      local reason = 'the lease ended: the worker died or lost its connection'
      if attempt >= most then
        bury(expired[i], flags, group, attempt, reason)
      else
        putBack(expired[i], flags, group, now, attempt, reason)
      end
    end
  end
end
