-- Notifies idle workers, longest idle first, that there may be tasks to fetch. Returns how many were notified. Expects:
-- idle, publish, now.
local function wake(most)
  local count = 0
  for _ = 1, 16 do
    if count == most then
      break
    end
    local first = redis.call('ZPOPMIN', idle)
    if #first == 0 then
      break
    end
    -- Skips workers that are gone or whose registration has expired.
    if tonumber(first[2]) >= now and redis.call(publish, string.match(first[1], '^%S+ %S+ (.*)$'), 'w:') > 0 then
      count = count + 1
    end
  end
  return count
end
