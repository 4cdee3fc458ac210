-- What became of a task: attempts says so, or its record, which is sealed then (see compact-record.ts). Whoever finds no entry in attempts
-- has to ask here. Expects: tasks.

-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64
-- instant, u16 attempt. `last` is what it has of the task, if anything.
local function expandRecord(record, last)
  if not record or #record < 16 or string.byte(record, 4) >= 64 then
    return record, last
  end
  local high, low, attempt, low2 = struct.unpack('>HBBB', record)
  local enqueuedAt = struct.unpack('>d', record, 9)
  -- An instant of enqueuing may be a little ahead of the time.
  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536
  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)
end

-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;
-- nil for a task that is unknown. Reads no big record.
local function compactEnd(id)
  local MOST_BYTES = 512
  local bytes = redis.call('HSTRLEN', tasks, id)
  if bytes == 0 then
    return nil
  end
  local _, last = expandRecord(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)
  return last
end
