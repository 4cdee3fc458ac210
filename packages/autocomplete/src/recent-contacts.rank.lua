#!lua
-- Raises the frecency of a user's contacts or takes them out, one after the other.
--
-- The frecency of a contact is the sum of 2^(-age / half-life) over all its touches. What is stored is its logarithm, moved to
-- a fixed point of time: while time goes by all frecencies sink alike, so no order changes and nothing is rewritten.
--
-- KEYS
--   ranked      ZSET entry -> rank, which is -round(1000 * (log2(frecency) + now / half-life)); until it is empty or idle
-- ARGV
--   capacity    the most entries that stay
--   halfLifeMs  a touch counts half after so long, ms
--   idleMs      ms until contacts that nobody changes go away
--   nowMs       the time, ms; nothing: that of the server. Only tests give it
--   changes...  one for each change: '+' (touch) or '-' (remove), then the entry
-- RETURNS
--   one integer for each change: 1 if the entry was there, else 0
local ranked = KEYS[1]
local capacity, halfLifeMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local nowMs = tonumber(ARGV[4])

-- Whole numbers take 4 bytes where fractions take 17. A thousandth of a half-life is finer than what anybody notices.
local UNITS = 1000
if not nowMs then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000 + time[2] / 1000
end
local now = nowMs / halfLifeMs

-- log2(2^a + 2^b), without powers that overflow when a clock was set back.
local function logOfSum(a, b)
  local high, low = math.max(a, b), math.min(a, b)
  return high + math.log(1 + 2 ^ (low - high)) / math.log(2)
end

redis.call('ZREMRANGEBYRANK', ranked, capacity, -1)
local found = {}
for index = 5, #ARGV do
  local sign, entry = ARGV[index]:sub(1, 1), ARGV[index]:sub(2)
  if sign == '+' then
    local rank = redis.call('ZSCORE', ranked, entry)
    local sum = now
    if rank then
      sum = logOfSum(-rank / UNITS, now)
    else
      -- Before it comes in, so that the new one stays whatever its rank, and the set never has one more than a list may.
      redis.call('ZREMRANGEBYRANK', ranked, capacity - 1, -1)
    end
    redis.call('ZADD', ranked, string.format('%.0f', -UNITS * sum), entry)
    found[#found + 1] = rank and 1 or 0
  else
    found[#found + 1] = redis.call('ZREM', ranked, entry)
  end
end
redis.call('PEXPIRE', ranked, idleMs)
return found
