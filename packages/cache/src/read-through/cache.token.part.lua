-- Expects: seq, now (ms), time (the reply of TIME). Tokens and versions of tags come from one counter, which gives their
-- order. The counter follows the clock, so a lost counter does not restart below its last value.
local function nextToken()
  local last = tonumber(redis.call('GET', seq) or 0)
  local token = string.format('%.0f', math.max(last + 1, tonumber(time[1]) * 1000000 + tonumber(time[2])))
  redis.call('SET', seq, token, 'PX', 86400000)
  return token
end
