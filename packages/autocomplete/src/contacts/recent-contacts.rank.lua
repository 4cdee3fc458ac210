#!lua
-- Raises the frecency of users' contacts or removes them, one after another. Many users share a call, as with lists.
--
-- The stored rank is the logarithm of the frecency, the sum of 2^(-age / half-life) over all touches of a contact, relative
-- to a fixed instant. As time passes all frecencies fall by the same factor, so the order stays and nothing is rewritten.
--
-- KEYS
--   rankeds...  for each change: ZSET entry -> rank, which is -round(1000 * (log2(frecency) + now / half-life)); until it is empty or
--               idle
-- ARGV
--   capacity    maximum of entries in a set
--   halfLifeMs  the half-life of a touch, ms
--   keepMs      lifetime of a set after its last change, ms
--   nowMs       the time, ms; empty: the server's. Only tests set it
--   signs       one character for each change: '+' (touch) or '-' (remove)
--   entries...  one for each change
-- RETURNS
--   for each change 1 if the entry was there, else 0; or an error if the key is not a ZSET, and nothing is changed
local rankeds = KEYS
local capacity, halfLifeMs, keepMs, signs = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[5]
local nowMs = tonumber(ARGV[4])

-- Whole numbers take 4 bytes, fractions 17. A thousandth of a half-life is too small to notice.
local UNITS = 1000
if not nowMs then
  -- include server.time.part.lua
  nowMs = time[1] * 1000 + time[2] / 1000
end
local now = nowMs / halfLifeMs
-- The index of the first entry that a new one replaces.
local last = string.format('%d', capacity - 1)

-- log2(2^a + 2^b), without powers that overflow after a clock was set back.
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
    -- The lowest is removed before the new one is added, which then stays at any rank. The set never exceeds the size of a
    -- plain list.
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
    -- Removes entries over the capacity, which may have been higher before. Returns the error if the key is not a set.
    cut = redis.pcall('ZREMRANGEBYRANK', ranked, capacity, '-1')
  end
  if type(cut) ~= 'number' then
    found[index] = cut
  else
    local isTouch = signs:sub(index, index) == '+'
    found[index] = isTouch and touch(ranked, entry) or redis.call('ZREM', ranked, entry)
    if rankeds[index + 1] ~= ranked then
      redis.call('PEXPIRE', ranked, keepMs)
    end
  end
end
return found
