#!lua
-- Takes or renews the lease of the one change feed of a table that reads its outbox.
--
-- KEYS
--   feed  STRING, the token of the holder; for leaseMs
-- ARGV
--   token    of the requesting feed
--   leaseMs  ms
-- RETURNS
--   0 if it is the holder now, else ms until the end of the lease of another feed
local feed = KEYS[1]
local token, leaseMs = ARGV[1], ARGV[2]

local holder = redis.call('GET', feed)
if holder and holder ~= token then
  return math.max(1, redis.call('PTTL', feed))
end
redis.call('SET', feed, token, 'PX', leaseMs)
return 0
