-- Expects: now (ms). When the first member of any of these sets is due, in ms from now; -1: they are empty.
local function inMsOf(...)
  local inMs = -1
  for _, set in ipairs({ ... }) do
    local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
    local own = head and math.max(0, math.ceil(tonumber(head) - now))
    inMs = own and (inMs < 0 or own < inMs) and own or inMs
  end
  return inMs
end
