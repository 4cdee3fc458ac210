-- Tells parked workers, those that have waited longest first, that there may be something to take.
-- Expects: idle, publish, now.
local function wake(most)
  for _ = 1, 16 do
    if most == 0 then
      return
    end
    local parked = redis.call('ZPOPMIN', idle)
    if #parked == 0 then
      return
    end
    -- Not those that are gone, or whose parking time is over.
    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], 'w:') > 0 then
      most = most - 1
    end
  end
end
