-- A look through the blocks of a prefix.
-- Expects: book.places.part.lua before it.

-- How many blocks a call may look through, about 7 µs each. Who needs more goes on in another call.
local looked, mostLooked = 0, 200

local function startOf(entry)
  return sub(entry, 1, find(entry, '\0', 1, true) - 1)
end

-- Calls `visit` with the members that begin with `head` and match a pattern, in a list for each block, from a place on. Returns
-- nothing, or the place where to go on; ends early if `visit` returns true.
local function scan(head, pattern, place, visit)
  local last = '(' .. head .. '\255'
  local key, entry = placeOf(place)
  local ahead, at = {}, 1
  while key do
    looked = looked + 1
    if visit(matching(key, pattern)) then
      return nil
    end
    if entry and not ahead[at] then
      ahead, at = redis.call('ZRANGEBYLEX', directory, '(' .. entry, last, 'LIMIT', '0', '16'), 1
    end
    entry, at = ahead[at], at + 1
    key = entry and keyOf(entry)
    if key and looked >= mostLooked then
      return startOf(entry)
    end
  end
end
