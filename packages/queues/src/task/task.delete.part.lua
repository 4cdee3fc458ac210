-- Deletes tasks. Expects: tasks, attempts, usesOptional, progress, logs, dedupKeys, steps, and task.steps.part.lua and
-- flow.delete.part.lua before it.

local function deleteKeys(ids)
  local fields = {}
  for i, id in ipairs(ids) do
    fields[i] = 'i' .. id
  end
  -- An id has an entry only while its key is that of this task.
  for i, key in ipairs(redis.call('HMGET', dedupKeys, unpack(fields))) do
    if key then
      redis.call('HDEL', dedupKeys, fields[i], 'k' .. key)
    end
  end
end

-- Not their ids in lists and sets.
local function deleteTasks(ids)
  redis.call('HDEL', tasks, unpack(ids))
  redis.call('HDEL', attempts, unpack(ids))
  if usesOptional then
    redis.call('HDEL', progress, unpack(ids))
    redis.call('HDEL', logs, unpack(ids))
    if redis.call('EXISTS', dedupKeys) == 1 then
      deleteKeys(ids)
    end
    if redis.call('EXISTS', steps) == 1 then
      deleteSteps(ids)
    end
    deleteFlows(ids)
  end
end
