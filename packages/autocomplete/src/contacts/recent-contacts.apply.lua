#!lua
-- Moves contacts to the head of users' lists or removes them, one after another, and trims each list to its capacity.
--
-- Most of the cost of a touch is the call, so many users share one. On a Cluster a call has one user.
--
-- KEYS
--   recents...  for each change: LIST of entries, the last touched first; until it is empty, or keepMs after its last change
-- ARGV
--   capacity    maximum of entries in a list
--   keepMs      lifetime of a list after its last change, ms
--   signs       one character for each change: '+' (touch) or '-' (remove)
--   entries...  one for each change
-- RETURNS
--   for each change 1 if the entry was in the list, else 0; or an error if the key is not a list, and nothing is changed
local recents = KEYS
local capacity, keepMs, signs = tonumber(ARGV[1]), ARGV[2], ARGV[3]

-- Numbers are strings: Redis would convert them for each call, which takes as long as some of the calls.
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
      call('PEXPIRE', recent, keepMs)
    end
  end
  found[index] = removed
end
return found
