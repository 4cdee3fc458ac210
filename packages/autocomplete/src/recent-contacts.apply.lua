#!lua
-- Puts contacts in front of users' lists or takes them out, one after the other, and keeps each list to its capacity.
--
-- What touches cost is mostly what a call costs, so those of many users share one. On a Cluster it has those of one user.
--
-- KEYS
--   recents...  for each change: LIST of entries, the last touched first; until it is empty or idle
-- ARGV
--   capacity    the most entries that stay
--   idleMs      ms until a list that nobody changes goes away
--   signs       one character for each change: '+' (touch) or '-' (remove)
--   entries...  one for each change
-- RETURNS
--   for each change an integer: 1 if the entry was in the list, else 0; or an error, where the key is no list: nothing of it is changed
local recents = KEYS
local capacity, idleMs, signs = tonumber(ARGV[1]), ARGV[2], ARGV[3]

-- Numbers go as text: Redis would make it of them for each call anew, and that takes as long as some of the calls.
local last = string.format('%d', capacity - 1)
local TOUCH = string.byte('+')
local call, try, byte = redis.call, redis.pcall, string.byte

local found = {}
for index = 1, #recents do
  local recent, entry = recents[index], ARGV[index + 3]
  local removed = try('LREM', recent, '1', entry)
  if type(removed) == 'number' then
    local isTouch = byte(signs, index) == TOUCH
    if not isTouch or call('LPUSH', recent, entry) > capacity then
      call('LTRIM', recent, '0', last)
    end
    if recents[index + 1] ~= recent then
      call('PEXPIRE', recent, idleMs)
    end
  end
  found[index] = removed
end
return found
