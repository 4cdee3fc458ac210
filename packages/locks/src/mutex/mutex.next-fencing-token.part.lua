-- The next fencing token, as text: max(last + 1, now in µs). Not INCR: a token that follows the clock still rises after
-- its key was lost or a failover lost the last grants. So the key may expire, 7 days after it was made; SETRANGE keeps
-- that expiry for half the cost of a SET with one. All tokens have 16 digits until the year 2286, so they compare as
-- strings. Numbers stay text wherever possible: printing one costs Redis as much as a GET.
local nowText
local function clockText()
  if not nowText then
    -- include server.time.part.lua
    nowText = time[1] .. string.sub('00000' .. time[2], -6)
  end
  return nowText
end
local function nextFencingToken(token)
  local fencingToken = clockText()
  local last = redis.call('GET', token)
  -- A value that is not a token was written by other software.
  if last and #last == 16 and (last < fencingToken or tonumber(last)) then
    if last >= fencingToken then fencingToken = string.format('%.0f', last + 1) end
    redis.call('SETRANGE', token, '0', fencingToken)
  else
    redis.call('SET', token, fencingToken, 'PX', '604800000')
  end
  return fencingToken
end
