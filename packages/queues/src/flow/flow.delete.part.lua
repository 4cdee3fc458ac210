-- Deletes the stored children of deleted tasks. Expects flows, outbox, usesOptional.
local function deleteFlows(ids)
  if not usesOptional or #ids == 0 or redis.call('EXISTS', flows) == 0 then
    return
  end
  local garbage, parents = {}, {}
  for i, head in ipairs(redis.call('HMGET', flows, unpack(ids))) do
    if head then
      parents[#parents + 1] = ids[i]
      garbage[#garbage + 1] = 'g' .. string.sub(head, 9, 16)
      garbage[#garbage + 1] = string.sub(head, 17, 18)
    end
  end
  if #parents > 0 then
    redis.call('HDEL', flows, unpack(parents))
    redis.call('HSET', outbox, unpack(garbage))
  end
end
