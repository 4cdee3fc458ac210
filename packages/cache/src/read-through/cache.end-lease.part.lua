-- Expects: publish. Ends a lease and wakes the processes whose channels are in it.
local function endLease(value, lease, current)
  redis.call('DEL', lease)
  local isToken = true
  for channel in string.gmatch(current, '[^\n]+') do
    if not isToken then
      redis.call(publish, channel, '*:' .. value)
    end
    isToken = false
  end
end
