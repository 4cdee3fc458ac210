-- The end of a task, from `attempts` or from its compact record (see compact-record.ts). Use it wherever attempts has no
-- entry. Expects: tasks.

-- Returns the record as it was enqueued, and the last attempt: `last`, the entry of attempts, or for a compact record S,
-- f64 instant, u16 attempt.
local function expandRecord(record, last)
  if not record or #record < 16 or string.byte(record, 4) >= 64 then
    return record, last
  end
  local high, low, attempt, low2 = struct.unpack('>HBBB', record)
  local enqueuedAt = struct.unpack('>d', record, 9)
  -- The enqueue time may be slightly ahead of the server's.
  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536
  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)
end

-- The last attempt of a task without an entry in attempts; false for a task that never ran, nil for an unknown one. Does
-- not read big records.
local function compactEnd(id)
  local MOST_BYTES = 512
  local bytes = redis.call('HSTRLEN', tasks, id)
  if bytes == 0 then
    return nil
  end
  local _, last = expandRecord(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)
  return last
end
