#!lua
-- Renews the leases of running loads.
--
-- KEYS
--   leases...   STRING: the token, then channels to wake; until leaseMs
-- ARGV
--   leaseMs     ms
--   tokens...   of each lease
-- RETURNS
--   for each lease 1 if it was still held, else 0
local leaseMs = ARGV[1]

local replies = {}
for index = 2, #ARGV do
  local lease = KEYS[index - 1]
  local token = ARGV[index] .. '\n'
  local held = redis.call('GET', lease)
  local isHeld = held and string.sub(held, 1, #token) == token
  if isHeld then
    redis.call('PEXPIRE', lease, leaseMs)
  end
  replies[#replies + 1] = isHeld and 1 or 0
end
return replies
