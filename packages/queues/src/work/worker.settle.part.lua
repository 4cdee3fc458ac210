-- Settles what has succeeded; the rest is set aside for worker.return.part.lua.
-- Expects: everything of the prologue of worker.exchange.lua.
-- Neighbours are often the same in all but the id (taken in one call, without a result): those are not taken apart again.

-- Operands of HSET: what is to be said of attempts.
local changed = {}
local settled, left, finished, setAside, hasDied = {}, {}, {}, {}, false
local isKept = keepSucceeded > 0 and keepSucceededMs > 0
if count > 0 then
  local told = { struct.unpack(count == 1 and '>Hc0Ic0' or '>' .. string.rep('Hc0Ic0', count), acks) }
  local ids = {}
  for i = 1, count do
    ids[i] = told[2 * i - 1]
  end
  local lasts = redis.call('HMGET', attempts, unpack(ids))
  local tellingBefore, lastBefore, verdict, given, delay, data
  local state, held, attempt, flags, most, group, success
  for i = 1, count do
    local id, telling, last = ids[i], told[2 * i], lasts[i]
    if telling ~= tellingBefore or last ~= lastBefore then
      local at
      verdict, given, delay, at = struct.unpack('>c1Id', telling)
      data = string.sub(telling, at)
      state = string.sub(last or '', 1, 1)
      if state == 'A' then
        held, attempt, flags, most, at = struct.unpack('>IHBH', last, 2)
        -- 0: it was handed over, and this is the first that is heard of its attempt.
        attempt = math.max(1, attempt)
        group = string.sub(last, at)
        success = verdict == 'S' and struct.pack('>c1dH', 'S', now, attempt) .. data
      end
      tellingBefore, lastBefore = telling, last
    end
    if state == 'A' and held == given then
      settled[i] = '1'
      left[#left + 1] = id
      if success then
        finished[#finished + 1] = id
        if isKept then
          local size = #changed
          changed[size + 1], changed[size + 2] = id, success
        end
        if beyond then
          if group ~= '' then
            beyond.leaveGroup(group)
          end
          beyond.recordEnd(id, flags, success)
          beyond.recordEvent('S', id, success)
        end
      else
        setAside[#setAside + 1] = { id, flags, group, attempt, verdict, delay, data }
      end
    else
      settled[i] = state == 'C' and 'C' or '0'
    end
  end
end
