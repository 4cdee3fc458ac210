-- Records the ends of tasks, for waiting processes and for parents. Expects tasks, awaited, flows, outbox, publish,
-- usesOptional, and task.record.part.lua. Call recordEnd while the record is still in tasks. A script without maintenance wakes a worker when there
-- are `parentNotices`, since workers deliver them. A script that deletes records also needs flow.delete.part.lua.
local endedIds, endedValues, endedCount, parentNotices = {}, {}, 0, {}

-- flags is the first byte of the record. value is the entry of attempts (S…, D…, C…), or '' for a task that is removed
-- before its end.
local function recordEnd(id, flags, value)
  if not usesOptional then
    return
  end
  endedCount = endedCount + 1
  endedIds[endedCount], endedValues[endedCount] = id, value
  local kin = math.floor(flags / 32) % 4
  if kin % 2 == 1 then
    -- The parent is in the extras, which are JSON. The notice has the record without the payload.
    local record = redis.call('HGET', tasks, id)
    if record then
      local _, payloadAt = nameOf(record)
      -- include server.time.part.lua
      local notice = value ~= '' and value or 'X' .. struct.pack('>dH', time[1] * 1000 + math.floor(time[2] / 1000), 0)
      -- The instant tells the end of a task from that of an earlier run, before a retry.
      parentNotices[#parentNotices + 1] = 'n' .. string.sub(notice, 2, 9) .. id
      parentNotices[#parentNotices + 1] = struct.pack('>I', payloadAt - 1) .. string.sub(record, 1, payloadAt - 1) .. notice
    end
  end
  if kin >= 2 then
    -- f64 when, 8 bytes of flow, u16 children, u16 children that have not ended, u8 policy, u8 waiting
    local head = redis.call('HGET', flows, id)
    if head and string.byte(head, 22) == 1 then
      if redis.call('HINCRBY', flows, 'w', -1) == 0 then
        redis.call('HDEL', flows, 'w')
      end
      redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\0')
    end
    local state = string.sub(value, 1, 1)
    if head and (state == 'S' or state == '') then
      -- The parent won't read the results of its children again. There may be many, so they are deleted in steps.
      redis.call('HDEL', flows, id)
      parentNotices[#parentNotices + 1] = 'g' .. string.sub(head, 9, 16)
      parentNotices[#parentNotices + 1] = string.sub(head, 17, 18)
    end
  end
end

-- Call once, at the end of the script.
local function publishEnds()
  if endedCount == 0 then
    return
  end
  if #parentNotices > 0 then
    redis.call('HSET', outbox, unpack(parentNotices))
    -- A sender that found nothing due has not seen these.
    redis.call('HDEL', outbox, 'p')
  end
  if redis.call('EXISTS', awaited) == 0 then
    return
  end
  -- The score: the second until which a process waits · 2^20, plus the number of the process, or 0 for several processes.
  local SOLE = 1048576
  for from = 1, endedCount, 1000 do
    local upTo = math.min(from + 999, endedCount)
    for i, score in ipairs(redis.call('ZMSCORE', awaited, unpack(endedIds, from, upTo))) do
      if score then
        local id, process = endedIds[from + i - 1], tonumber(score) % SOLE
        local channel = process == 0 and awaited or awaited .. ':' .. string.format('%.0f', process)
        redis.call(publish, channel, '*:' .. struct.pack('>H', #id) .. id .. endedValues[from + i - 1])
        redis.call('ZREM', awaited, id)
      end
    end
  end
end
