-- Tells those who wait for a task that it has ended for good. Expects tasks, awaited, flows, outbox, publish, usesOptional.
-- Call finish while the record is still in tasks. Beside it: flow.delete.part.lua for who removes records (`deleteFlows(ids)`), and
-- flow.due.part.lua for who tells workers of the outbox (`isOutboxDue()`: bit 2 of the exchange's chores). Others wake a worker when
-- there are `notes`: it asks for chores.
local endedIds, endedValues, endedCount, parentNotices = {}, {}, 0, {}

-- flags is the first byte of the record. value is what attempts says of the end (S…, D…, C…), or '' for a task that is
-- removed before it has ended.
local function recordEnd(id, flags, value)
  if not usesOptional then
    return
  end
  endedCount = endedCount + 1
  endedIds[endedCount], endedValues[endedCount] = id, value
  local kin = math.floor(flags / 32) % 4
  if kin % 2 == 1 then
    -- Who the parent is stands in the extras, which are JSON: the note has the record without the payload.
    local record = redis.call('HGET', tasks, id)
    if record then
      local at = 12
      if math.floor(flags / 16) % 2 == 1 then
        at = at + 2 + struct.unpack('>H', record, at)
      end
      if flags >= 128 then
        -- For how long the id is refused.
        at = at + 8
      end
      at = at + 2 + struct.unpack('>H', record, at)
      at = at + 2 + struct.unpack('>H', record, at)
      local time = redis.call('TIME')
      local told = value ~= '' and value or 'X' .. struct.pack('>dH', time[1] * 1000 + math.floor(time[2] / 1000), 0)
      -- The instant keeps apart the ends of a task that is run again after it has ended.
      parentNotices[#parentNotices + 1] = 'n' .. string.sub(told, 2, 9) .. id
      parentNotices[#parentNotices + 1] = struct.pack('>I', at - 1) .. string.sub(record, 1, at - 1) .. told
    end
  end
  if kin >= 2 then
    -- f64 when, 8 bytes of flow, u16 children, u16 still to come, u8 policy, u8 waiting
    local head = redis.call('HGET', flows, id)
    if head and string.byte(head, 22) == 1 then
      if redis.call('HINCRBY', flows, 'w', -1) == 0 then
        redis.call('HDEL', flows, 'w')
      end
      redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\0')
    end
    local state = string.sub(value, 1, 1)
    if head and (state == 'S' or state == '') then
      -- It won't ask for the results of its children again; there may be many, so they are removed step by step.
      redis.call('HDEL', flows, id)
      parentNotices[#parentNotices + 1] = 'g' .. string.sub(head, 9, 16)
      parentNotices[#parentNotices + 1] = string.sub(head, 17, 18)
    end
  end
end

-- Once, at the end of the script.
local function publishEnds()
  if endedCount == 0 then
    return
  end
  if #parentNotices > 0 then
    redis.call('HSET', outbox, unpack(parentNotices))
    -- Whoever has found that nothing was due yet has not seen these.
    redis.call('HDEL', outbox, 'p')
  end
  if redis.call('EXISTS', awaited) == 0 then
    return
  end
  -- The score is the second until which somebody waits · 2^20, plus the number of the process; 0 stands for several.
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
