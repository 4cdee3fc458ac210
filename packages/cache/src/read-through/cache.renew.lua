#!lua
-- Renews the leases of running loads.
--
-- KEYS
--   leases...   STRING: the token, a blank and its request, then channels to wake; until leaseMs
-- ARGV
--   leaseMs     ms
--   tokens...   of each lease
-- RETURNS
--   for each lease 1 if its load still has it, else 0
local leaseMs = ARGV[1]

local replies = {}
for index = 2, #ARGV do
  local lease = KEYS[index - 1]
  local token = ARGV[index] .. ' '
  local isOwn = string.sub(redis.call('GET', lease) or '', 1, #token) == token
  if isOwn then
    redis.call('PEXPIRE', lease, leaseMs)
  end
  replies[#replies + 1] = isOwn and 1 or 0
end
return replies
