-- Instants of a rate limiter: whole µs and a remainder in parts of 1/limit µs. Expects now.

-- The instant (us, parts) moved by `permits` intervals.
local function later(limiter, us, parts, permits)
  parts = parts + permits * limiter.parts
  local carry = math.floor(parts / limiter.limit)
  return us + permits * limiter.us + carry, parts - carry * limiter.limit
end

-- The interval of a limiter, and the instant beyond which no take moves it.
local function limiterOf(periodText, limitText, burstText)
  local periodUs, limit = tonumber(periodText), tonumber(limitText)
  local us = math.floor(periodUs / limit)
  local limiter = {limit = limit, us = us, parts = periodUs - us * limit}
  limiter.endUs, limiter.endParts = later(limiter, now, 0, tonumber(burstText))
  return limiter
end

local function isWithin(limiter, us, parts)
  return us < limiter.endUs or us == limiter.endUs and parts <= limiter.endParts
end

-- The permits that remain while the instant is (us, parts), which is within the limiter.
local function remainingOf(limiter, us, parts)
  -- The quotient may be wrong in its last bits: rounded, it is right or one too many.
  local leftUs = limiter.endUs - us + (limiter.endParts - parts) / limiter.limit
  local remaining = math.floor(leftUs / (limiter.us + limiter.parts / limiter.limit) + 0.5)
  return isWithin(limiter, later(limiter, us, parts, remaining)) and remaining or remaining - 1
end
