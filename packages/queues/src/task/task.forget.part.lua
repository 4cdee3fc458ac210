-- Removes all that is known of tasks, but where their ids stand.
-- Expects: tasks, attempts, isExtended, progress, logs, and flow.forget.part.lua before it.
local function forget(ids)
  redis.call('HDEL', tasks, unpack(ids))
  redis.call('HDEL', attempts, unpack(ids))
  if isExtended then
    redis.call('HDEL', progress, unpack(ids))
    redis.call('HDEL', logs, unpack(ids))
    forgetFlows(ids)
  end
end
