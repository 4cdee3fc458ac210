#!lua
-- Raises the frecency of users' contacts or takes them out, one after the other. As with lists, many users share a call.
--
-- The frecency of a contact is the sum of 2^(-age / half-life) over all its touches. What is stored is its logarithm, moved to
-- a fixed point of time: while time goes by all frecencies sink alike, so no order changes and nothing is rewritten.
--
-- KEYS
--   rankeds...  for each change: ZSET entry -> rank, which is -round(1000 * (log2(frecency) + now / half-life)); until it is empty or
--               idle
-- ARGV
--   capacity    the most entries that stay
--   halfLifeMs  a touch counts half after so long, ms
--   idleMs      ms until contacts that nobody changes go away
--   nowMs       the time, ms; nothing: that of the server. Only tests give it
--   signs       one character for each change: '+' (touch) or '-' (remove)
--   entries...  one for each change
-- RETURNS
--   for each change an integer: 1 if the entry was there, else 0; or an error, where the key is no ZSET: nothing of it is changed
local rankeds = KEYS
local capacity, halfLifeMs, idleMs, signs = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[5]
local nowMs = tonumber(ARGV[4])

-- Whole numbers take 4 bytes where fractions take 17. A thousandth of a half-life is finer than what anybody notices.
local UNITS = 1000
if not nowMs then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000 + time[2] / 1000
end
local now = nowMs / halfLifeMs
-- The rank of the first one that has to go for a new one.
local last = string.format('%d', capacity - 1)

-- log2(2^a + 2^b), without powers that overflow when a clock was set back.
local function logOfSum(a, b)
  local high, low = math.max(a, b), math.min(a, b)
  return high + math.log(1 + 2 ^ (low - high)) / math.log(2)
end

local function touch(ranked, entry)
  local rank = redis.call('ZSCORE', ranked, entry)
  local sum = now
  if rank then
    sum = logOfSum(-rank / UNITS, now)
  else
    -- Before it comes in, so that the new one stays whatever its rank, and the set never has one more than a list may.
    redis.call('ZREMRANGEBYRANK', ranked, last, '-1')
  end
  redis.call('ZADD', ranked, string.format('%.0f', -UNITS * sum), entry)
  return rank and 1 or 0
end

local found = {}
local cut
for index = 1, #rankeds do
  local ranked, entry = rankeds[index], ARGV[index + 5]
  if rankeds[index - 1] ~= ranked then
    -- What the set has beyond its capacity, if that was higher once; or why it is no set.
    cut = redis.pcall('ZREMRANGEBYRANK', ranked, capacity, '-1')
  end
  if type(cut) ~= 'number' then
    found[index] = cut
  else
    local isTouch = signs:sub(index, index) == '+'
    found[index] = isTouch and touch(ranked, entry) or redis.call('ZREM', ranked, entry)
    if rankeds[index + 1] ~= ranked then
      redis.call('PEXPIRE', ranked, idleMs)
    end
  end
end
return found
