-- Retention: by count at least as many as came, by age a few more.
-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it; when it is thorough, task.compact.part.lua.
local MOST_AGED = 200
local gone = isKept and {} or finished
local kept = 0
if #finished > 0 then
  kept = isKept and redis.call('RPUSH', succeeded, unpack(finished)) or redis.call('LLEN', succeeded)
end
if kept > keepSucceeded then
  local oldest = redis.call('LPOP', succeeded, math.min(2 * #finished + 8, kept - keepSucceeded))
  for _, id in ipairs(oldest) do
    gone[#gone + 1] = id
  end
end
for _ = 1, isThorough and MOST_AGED or 0 do
  local oldest = redis.call('LINDEX', succeeded, '0')
  local last = oldest and (redis.call('HGET', attempts, oldest) or endOf(oldest))
  if not oldest or last and struct.unpack('>d', last, 2) > now - keepSucceededMs then
    break
  end
  gone[#gone + 1] = redis.call('LPOP', succeeded)
end
-- Where there is more than the core, parents die of their children in other calls.
if hasDied or usesOptional then
  local surplus = redis.call('ZCARD', dead) - keepDead
  if surplus > 0 then
    -- At most 600 have died above; an operator may have lowered the limit.
    local oldest = redis.call('ZRANGE', dead, 0, math.min(surplus, 1000) - 1)
    redis.call('ZREM', dead, unpack(oldest))
    for _, id in ipairs(oldest) do
      gone[#gone + 1] = id
    end
  end
end
if #gone > 0 then
  if usesOptional then
    beyond.deleteTasks(gone)
  else
    redis.call('HDEL', tasks, unpack(gone))
    redis.call('HDEL', attempts, unpack(gone))
  end
end
