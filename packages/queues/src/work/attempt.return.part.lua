-- Ends an attempt that has not succeeded: the task dies, or goes back to its priority.
-- Expects: tasks, dead, priorityKeys, now, changed (operands of HSET attempts), hasDied, PRIORITIES, optional (nil without optional
-- features). `flags` is the first byte of the record, `group` is '' for a task without one.
local function bury(id, flags, group, attempt, reason)
  local last = struct.pack('>c1dH', 'D', now, attempt) .. reason
  changed[#changed + 1] = id
  changed[#changed + 1] = last
  redis.call('ZADD', dead, now, id)
  hasDied = true
  if optional then
    if group ~= '' then
      optional.leaveGroup(group)
    end
    optional.recordEnd(id, flags, last)
    optional.recordEvent('D', id, last)
  end
end

-- The task is due at the instant `at`. `attempt`: how many of its attempts count.
local function putBack(id, flags, group, at, attempt, reason)
  local state = 'R'
  if group ~= '' then
    if optional.isOrdered then
      state = 'H'
    else
      optional.leaveGroup(group)
    end
  end
  local last = struct.pack('>c1dH', state, now, attempt) .. reason
  changed[#changed + 1] = id
  changed[#changed + 1] = last
  redis.call('ZADD', priorityKeys[3 * (flags % PRIORITIES) + 3], string.format('%.3f', at), id)
  if optional then
    optional.recordEvent(state, id, last)
  end
end
