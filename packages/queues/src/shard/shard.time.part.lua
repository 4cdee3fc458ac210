-- Makes some worker call at the instant `at`: wakes the timekeeper if its timer is later, or an idle worker if there is no
-- timekeeper. Expects: idle, timekeeper, publish, now, and task.wake.part.lua.
local function callAt(at)
  local due, channel = string.match(redis.call('GET', timekeeper) or '', '^(%S+) %S+ %S+ (.*)$')
  if not due or tonumber(due) <= now then
    wake(1)
  elseif at < tonumber(due) and redis.call(publish, channel, 'w:') == 0 then
    redis.call('DEL', timekeeper)
    wake(1)
  end
end
