-- Hands the one task of a call to a parked worker, where nothing goes before it: then it is active, and `isNotified` is true.
-- Expects: everything of the prologue of queue.enqueue.lua, places, isNotified; task.wake.part.lua before it.
local ready, scheduled, active, retrying = unpack(places)
local lists, delayed = { ready, unpack(places, 5) }, { scheduled, retrying }
local isFirst = redis.call('EXISTS', scheduled, retrying, unpack(lists)) == 0
if not isFirst then
  lists = { ready }
  for i = 5, #places, 3 do
    lists[#lists + 1] = places[i]
    delayed[#delayed + 1], delayed[#delayed + 2] = places[i + 1], places[i + 2]
  end
  isFirst = redis.call('EXISTS', unpack(lists)) == 0
  local dueUpTo = string.format('%.3f', time[1] * 1000 + time[2] / 1000)
  for _, key in ipairs(delayed) do
    isFirst = isFirst and redis.call('ZCOUNT', key, '-inf', dueUpTo) == 0
  end
end
if isFirst then
  local id, record = fields[1], fields[2]
  local nowUs = time[1] * 1000000 + time[2]
  isNotified = wake(1, 'w:' .. struct.pack('>dIHc0', nowUs, CLAIM_MS, #id, id) .. record)
  if isNotified then
    local mark = struct.pack('>c1IH', 'A', nowUs % 4294967296, 0) .. string.sub(record, 1, 3)
    redis.call('HSET', attempts, id, mark)
    redis.call('ZADD', active, string.format('%.0f', now + CLAIM_MS), id)
  end
end
