-- The next fencing token, as text: max(last + 1, now in µs). Not INCR: a token that follows the clock goes on rising when
-- its key was lost or a failover has lost the last grants, and so the key may expire, 7 days after it was made. SETRANGE
-- keeps that expiry for half the cost of a SET with one. All tokens have 16 digits until the year 2286, so they compare as
-- strings. Numbers are text wherever they can be: Redis spends as much on printing one as on a GET.
local nowText
local function clockText()
  if not nowText then
    local time = redis.call('TIME')
    nowText = time[1] .. string.sub('00000' .. time[2], -6)
  end
  return nowText
end
local function mint(token)
  local minted = clockText()
  local last = redis.call('GET', token)
  -- What isn't a token was put there by somebody else.
  if last and #last == 16 and (last < minted or tonumber(last)) then
    if last >= minted then minted = string.format('%.0f', last + 1) end
    redis.call('SETRANGE', token, '0', minted)
  else
    redis.call('SET', token, minted, 'PX', '604800000')
  end
  return minted
end
