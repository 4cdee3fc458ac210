-- Forgets when messages expire. Expects expiring (key), first and final (their ids).
if redis.call('EXISTS', expiring) == 1 then
  for from = first, final, 1000 do
    local ids = {}
    for id = from, math.min(from + 999, final) do
      ids[#ids + 1] = id
    end
    redis.call('ZREM', expiring, unpack(ids))
  end
end
