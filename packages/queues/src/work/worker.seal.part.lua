-- Seals records, see task/compact-record.ts. That costs half of what it costs to run a task, and where much goes on most records are gone
-- before long: so it is done where there is nothing to take.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.
local PIECE = 20
-- As many as are kept by default: 3 ms.
local MOST_SEALED = 1000
local MOST_RECORD_BYTES = 256
local MOST_ATTEMPT = 63
local MOST_MS = 4294967295

-- The sealed record; nil for one that has to stay as it is. `last` is what attempts says: S, f64 instant, u16 attempt.
local function sealed(record, last)
  local enqueuedAt, endedAt, attempt = struct.unpack('>d', record, 4), struct.unpack('>dH', last, 2)
  local isOfFlow = math.floor(string.byte(record) / 32) % 4 > 0
  local ms = endedAt - enqueuedAt + 65536
  if isOfFlow or attempt > MOST_ATTEMPT or ms < 0 or ms > MOST_MS or ms % 1 > 0 then
    return nil
  end
  return struct.pack('>HBBB', math.floor(ms / 65536), math.floor(ms / 256) % 256, attempt, ms % 256) .. record
end

-- Those at these places of the list; returns how many records it has sealed. Who has told nothing but the end has 11 bytes.
local function sealAll(first, last)
  local ids = redis.call('LRANGE', succeeded, first, last)
  local bare, ends = {}, {}
  for i, told in ipairs(#ids > 0 and redis.call('HMGET', attempts, unpack(ids)) or {}) do
    if told and #told == 11 and redis.call('HSTRLEN', tasks, ids[i]) <= MOST_RECORD_BYTES then
      bare[#bare + 1], ends[#ends + 1] = ids[i], told
    end
  end
  local operands, done = {}, {}
  for i, record in ipairs(#bare > 0 and redis.call('HMGET', tasks, unpack(bare)) or {}) do
    local other = record and sealed(record, ends[i])
    if other then
      local size = #done
      done[size + 1] = bare[i]
      operands[2 * size + 1], operands[2 * size + 2] = bare[i], other
    end
  end
  if #done > 0 then
    redis.call('HSET', tasks, unpack(operands))
    redis.call('HDEL', attempts, unpack(done))
  end
  return #done
end

-- From the latest one back to where others have been.
local upTo = -1
while upTo >= -MOST_SEALED and sealAll(upTo - PIECE + 1, upTo) > 0 do
  upTo = upTo - PIECE
end
