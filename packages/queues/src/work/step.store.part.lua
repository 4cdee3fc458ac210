-- Stores a step, or a cursor, of a task whose lease the caller holds. Returns 1 stored, N too many steps, B too many bytes.
-- Expects: steps, now (f64), and task.steps.part.lua.
local MOST_STEPS, MOST_BYTES = 1000, 1048576

-- number: 0 is the cursor.
local function storeStep(id, number, name, value)
  local head = redis.call('HGET', steps, 'h' .. id)
  local count, bytes = 0, 0
  if head then
    count, bytes = struct.unpack('>HI', head)
  end
  local field = number == 0 and 'c' .. id or stepField(number, id)
  local text = number == 0 and value or now .. struct.pack('>H', #name) .. name .. value
  -- A new step has no value before. A cursor has, and so has a step that is sent twice after a lost reply.
  if number <= count then
    bytes = bytes - redis.call('HSTRLEN', steps, field)
  end
  bytes = bytes + #text
  if number > MOST_STEPS then
    return 'N'
  elseif bytes > MOST_BYTES then
    return 'B'
  end
  redis.call('HSET', steps, 'h' .. id, struct.pack('>HI', math.max(count, number), bytes), field, text)
  return '1'
end

-- The number of the step of this name, and its result. Without one the next number. For callers that don't know the steps: O(steps).
local function numberOf(id, name)
  local head = redis.call('HGET', steps, 'h' .. id)
  local count = head and struct.unpack('>H', head) or 0
  for number = 1, count do
    local step = redis.call('HGET', steps, stepField(number, id))
    if step then
      local stored, at = struct.unpack('>Hc0', step, 9)
      if stored == name then
        return number, string.sub(step, at)
      end
    end
  end
  return count + 1, nil
end
