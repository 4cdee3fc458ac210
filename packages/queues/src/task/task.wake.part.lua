-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who
-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.
-- Expects: idle, publish, now.
local function wake(most, message)
  local isHanded
  for _ = 1, 16 do
    if most == 0 then
      break
    end
    local parked = redis.call('ZPOPMIN', idle)
    if #parked == 0 then
      break
    end
    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next
    -- one would be handed the same task. So whoever isn't heard here gets none.
    local takes = message ~= nil
      and parked[2] % 1 > 0
      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0
    -- Not those that are gone, or whose parking time is over.
    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then
      most = most - 1
      isHanded = takes
    end
  end
  return isHanded
end
