#!lua
-- The generic cell rate algorithm. A limiter of `limit` permits in a period gives one permit in each interval of
-- period / limit. Its state is one instant, at which the whole burst is available again. Each permit moves the instant by
-- one interval. A take that would move it beyond `burst` intervals from now is refused. A past instant counts as now:
-- unused permits don't add up beyond the burst. Takes run in their order; a refused one changes nothing.
--
-- A call that the client sends again, because its reply was lost, replaces the first one. For this the state has the id of
-- the last call that changed it, and the instant before that call. Another call in between makes this impossible, of another
-- process or of another tick of the same client: then the permits are taken twice.
--
-- No rounding: an instant is whole µs and a remainder in parts of 1/limit µs, both far below 2^53.
--
-- No take moves the instant beyond `burst` intervals from now. A later instant comes from a clock that was set back or a
-- larger burst: it is cut and stored. Without storing it, takes would be refused until the clock has caught up.
--
-- O(limiters + takes).
--
-- KEYS
--   limiters...  STRING '<instant> <callId>/<limit>/<periodMs>', then '/<burst>' if that is not the limit, then
--                ' <instant before>' if that was in the future; until the first instant. An instant is '<µs>', or
--                '<µs>:<parts>' with a remainder. A key may occur twice. The terms are for `inspect`: no take reads them
-- ARGV
--   callId       unique; the same when the client sends the call again
--   operands...  three for each limiter: periodUs (µs), limit, burst; then two for each take: the index of its limiter
--                (from 1), cost (0 takes nothing, -1 restores the whole burst)
-- RETURNS
--   four integers for each take: 1 if it is allowed, else 0; permits that remain; µs until it would be allowed; µs until
--   the whole burst remains
local callId = ARGV[1]
-- include server.time.part.lua
local now = time[1] * 1000000 + time[2]

-- include rate-limiter.instants.part.lua

local states = {}
local limiters = {}
local operand = 2
for i = 1, #KEYS do
  local key = KEYS[i]
  local state = states[key]
  if not state then
    local instant, lastId, before = string.match(redis.call('GET', key) or '', '^(%S*) ?([^%s/]*)%S* ?(%S*)$')
    if lastId == callId then instant = before end
    local us, parts = string.match(instant or '', '^(%d+):?(%d*)$')
    state = {us = tonumber(us or 0), parts = tonumber(parts) or 0, before = ''}
    -- A past instant counts as now. So most values have no more than 44 bytes, which is one allocation in Redis.
    if state.us >= now then state.before = ' ' .. instant end
    states[key] = state
  end
  local limiter = limiterOf(ARGV[operand], ARGV[operand + 1], ARGV[operand + 2])
  limiter.state, limiter.operand = state, operand
  -- The remainder of another limit is less than 1 µs.
  if state.parts >= limiter.limit then state.us, state.parts = state.us + 1, 0 end
  limiters[i] = limiter
  operand = operand + 3
end

local replies = {}
local count = 0
for i = operand, #ARGV, 2 do
  local limiter, cost = limiters[tonumber(ARGV[i])], tonumber(ARGV[i + 1])
  local state = limiter.state
  local us, parts = state.us, state.parts
  local isAllowed, waitUs = 1, 0
  if us < now then
    us, parts = now, 0
  elseif not isWithin(limiter, us, parts) then
    us, parts = limiter.endUs, limiter.endParts
    state.changedBy = limiter
  end
  if cost < 0 then
    us, parts = now, 0
    state.changedBy = limiter
  elseif cost > 0 then
    local nextUs, nextParts = later(limiter, us, parts, cost)
    if isWithin(limiter, nextUs, nextParts) then
      us, parts = nextUs, nextParts
      state.changedBy = limiter
    else
      isAllowed = 0
      waitUs = nextUs - limiter.endUs + (nextParts > limiter.endParts and 1 or 0)
    end
  end
  state.us, state.parts = us, parts
  replies[count + 1] = isAllowed
  replies[count + 2] = remainingOf(limiter, us, parts)
  replies[count + 3] = waitUs
  replies[count + 4] = us - now + (parts > 0 and 1 or 0)
  count = count + 4
end

for i = 1, #KEYS do
  local key = KEYS[i]
  local state = states[key]
  if state.changedBy then
    local at = state.changedBy.operand
    state.changedBy = nil
    if state.us <= now and state.parts == 0 then
      redis.call('DEL', key)
    else
      local instant = string.format('%.0f', state.us)
      if state.parts > 0 then instant = instant .. string.format(':%.0f', state.parts) end
      local periodMs, limit, burst = string.sub(ARGV[at], 1, -4), ARGV[at + 1], ARGV[at + 2]
      local value = burst == limit and instant .. ' ' .. callId .. '/' .. limit .. '/' .. periodMs .. state.before
        or instant .. ' ' .. callId .. '/' .. limit .. '/' .. periodMs .. '/' .. burst .. state.before
      -- The first whole ms after the instant.
      redis.call('SET', key, value, 'PXAT', string.format('%.0f', math.floor(state.us / 1000) + 1))
    end
  end
end
return replies
