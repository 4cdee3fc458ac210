#!lua
-- Puts contacts in front of a user's list or takes them out, one after the other, and cuts the list to its capacity.
--
-- KEYS
--   recent      LIST of entries, the last touched first; until it is empty or idle
-- ARGV
--   capacity    the most entries that stay
--   idleMs      ms until a list that nobody changes goes away
--   changes...  one for each change: '+' (touch) or '-' (remove), then the entry
-- RETURNS
--   one integer for each change: 1 if the entry was in the list, else 0
local recent = KEYS[1]
local capacity, idleMs = tonumber(ARGV[1]), ARGV[2]

local found = {}
for index = 3, #ARGV do
  local sign, entry = ARGV[index]:sub(1, 1), ARGV[index]:sub(2)
  found[#found + 1] = redis.call('LREM', recent, 1, entry)
  if sign == '+' then
    redis.call('LPUSH', recent, entry)
  end
end
redis.call('LTRIM', recent, 0, capacity - 1)
redis.call('PEXPIRE', recent, idleMs)
return found
