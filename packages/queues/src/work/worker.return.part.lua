-- What has not succeeded: it is dead, or goes back to its priority, with what dead workers held.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it; expired.
-- In these, `flags` is the first byte of the record, `group` is '' for a task without one.
local function bury(id, flags, group, attempt, reason)
  local last = struct.pack('>c1dH', 'D', now, attempt) .. reason
  changed[#changed + 1] = id
  changed[#changed + 1] = last
  redis.call('ZADD', dead, now, id)
  hasDied = true
  if beyond then
    if group ~= '' then
      beyond.leaveGroup(group)
    end
    beyond.recordEnd(id, flags, last)
    beyond.recordEvent('D', id, last)
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
  local last = struct.pack('>c1dH', state, now, attempt) .. reason
  changed[#changed + 1] = id
  changed[#changed + 1] = last
  redis.call('ZADD', priorityKeys[3 * (flags % PRIORITIES) + 3], string.format('%.3f', at), id)
  if beyond then
    beyond.recordEvent(state, id, last)
  end
end

-- What goes back at once keeps its order whatever the ids are: each has an instant of its own, by the µs, and none is ahead of now.
local backAt = now - 2 + time[2] % 1000 / 1000
for i, one in ipairs(setAside) do
  local id, flags, group, attempt, verdict, delay, reason = unpack(one)
  if verdict == 'D' then
    bury(id, flags, group, attempt, reason)
  else
    local at = verdict == 'B' and delay == 0 and backAt + i / 1000 or now + delay
    putBack(id, flags, group, at, verdict == 'R' and attempt or attempt - 1, reason)
  end
end

-- Due now, so ahead of the ready tasks of their priority.
if #expired > 0 then
  redis.call('ZREM', active, unpack(expired))
  for i, last in ipairs(redis.call('HMGET', attempts, unpack(expired))) do
    if last and string.sub(last, 1, 1) == 'A' then
      local attempt, flags, most, at = struct.unpack('>HBH', last, 6)
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
