#!lua flags=no-writes
-- The permits of a rate limiter, without a take: see rate-limiter.take.lua. O(1).
--
-- KEYS
--   rate         STRING the state of the limiter, until the whole burst is available again
-- ARGV
--   periodUs     µs; 0: the terms of the last take that changed it
--   limit        permits in a period
--   burst        the most at once
-- RETURNS
--   nothing if the limiter has no state and the terms are 0, else the limit, the period (ms) and the burst (all 0: the last take
--   stored no terms), the permits that remain (-1: unknown), µs until the whole burst remains
local rate = KEYS[1]
local periodUs, limit, burst = ARGV[1], ARGV[2], ARGV[3]
-- include server.time.part.lua
local now = time[1] * 1000000 + time[2]

-- include rate-limiter.instants.part.lua

local state = redis.call('GET', rate)
if not state and periodUs == '0' then return {} end
local instant, terms = string.match(state or '', '^(%S*) ?[^%s/]*/?(%S*)')
local usText, partsText = string.match(instant or '', '^(%d+):?(%d*)$')
local us, parts = tonumber(usText or 0), tonumber(partsText) or 0
if us < now then us, parts = now, 0 end
if periodUs == '0' then
  local storedLimit, periodMs, storedBurst = string.match(terms, '^(%d+)/(%d+)/?(%d*)$')
  if not storedLimit then return {0, 0, 0, -1, us - now + (parts > 0 and 1 or 0)} end
  periodUs, limit, burst = periodMs .. '000', storedLimit, storedBurst ~= '' and storedBurst or storedLimit
end
local limiter = limiterOf(periodUs, limit, burst)
if parts >= limiter.limit then us, parts = us + 1, 0 end
-- As a take would: see there.
if not isWithin(limiter, us, parts) then us, parts = limiter.endUs, limiter.endParts end
return {
  limiter.limit,
  tonumber(periodUs) / 1000,
  tonumber(burst),
  remainingOf(limiter, us, parts),
  us - now + (parts > 0 and 1 or 0),
}
