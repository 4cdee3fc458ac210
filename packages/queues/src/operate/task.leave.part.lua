-- Takes a waiting task out of where it stands: a set, its group, or the list of its priority. In a long list its entry can only
-- be made a tombstone, which workers skip when they come to it; near either end it is taken out, so that tasks that come and go
-- again leave nothing behind.
-- `hasFreed` tells whether a place that others wait for has become free.
-- Expects: ready, scheduled, retrying (keys by priority), tombstones, and task.group.part.lua.
local GROUPED, PRIORITIES = 16, 16
local REACH = 100
local hasFreed = false

local function groupOf(record)
  if math.floor(string.byte(record) / GROUPED) % 2 == 1 then
    return (struct.unpack('>Hc0', record, 12))
  end
end

local function release(group)
  leaveGroup(group)
  hasFreed = true
end

-- `state` is the first character of `last`, or '' for a task that was never taken.
local function leave(id, record, state, last)
  local priority = string.byte(record) % PRIORITIES
  if state == 'W' then
    return
  elseif state == 'Q' then
    quitGroup(groupOf(record), priority, id, last)
    return
  end
  if redis.call('ZREM', scheduled[priority], id) + redis.call('ZREM', retrying[priority], id) > 0 then
    if state == 'H' then
      release(groupOf(record))
    end
    return
  end
  local key = ready[priority]
  -- An id can be there more than once, as a tombstone and as a task that came later: whichever entry goes, what is left of
  -- them are as many tombstones as before, and then no task.
  for _, direction in ipairs({ -1, 1 }) do
    if redis.call('LPOS', key, id, 'RANK', direction, 'MAXLEN', REACH) then
      redis.call('LREM', key, direction, id)
      return
    end
  end
  local char = string.char(48 + priority)
  redis.call('HSET', tombstones, id, (redis.call('HGET', tombstones, id) or '') .. char)
  redis.call('HINCRBY', tombstones, char, 1)
end
