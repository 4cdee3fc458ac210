-- Deletes tasks, but not their ids in lists and sets. Expects: tasks, attempts, usesOptional, progress, logs, and
-- flow.delete.part.lua before it.
local function deleteTasks(ids)
  redis.call('HDEL', tasks, unpack(ids))
  redis.call('HDEL', attempts, unpack(ids))
  if usesOptional then
    redis.call('HDEL', progress, unpack(ids))
    redis.call('HDEL', logs, unpack(ids))
    deleteFlows(ids)
  end
end
