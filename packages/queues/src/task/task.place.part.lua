-- Where a waiting task is. Expects: priorityKeys, tombstones, and PRIORITIES.

-- How far from either end of a ready list an entry is searched.
local REACH = 100

-- The keys of the priority of a task: ready, scheduled, retrying.
local function keysOf(record)
  local at = 3 * (string.byte(record) % PRIORITIES)
  return unpack(priorityKeys, at + 1, at + 3)
end

-- An id can be in the list twice, as a tombstone and as a later task. Whichever entry is removed, the same number of
-- tombstones remains, and no task.
local function takeFromList(ready, id, priority)
  for _, direction in ipairs({ -1, 1 }) do
    if redis.call('LPOS', ready, id, 'RANK', direction, 'MAXLEN', REACH) then
      redis.call('LREM', ready, direction, id)
      return
    end
  end
  local char = string.char(48 + priority)
  redis.call('HSET', tombstones, id, (redis.call('HGET', tombstones, id) or '') .. char)
  redis.call('HINCRBY', tombstones, char, 1)
end

-- Where a task waits for its time: its sorted set, and the instant; nil for one that doesn't.
local function delayOf(id, scheduled, retrying)
  for _, key in ipairs({ scheduled, retrying }) do
    local at = redis.call('ZSCORE', key, id)
    if at then
      return key, at
    end
  end
end
