-- A scan of the blocks of a prefix.
-- Expects: book.places.part.lua before it.

-- The number of blocks that a call has read, and its maximum; each takes about 7 µs. Another call continues.
local blocksRead, maxBlocksRead = 0, 200

local function startOf(entry)
  return sub(entry, 1, find(entry, '\0', 1, true) - 1)
end

-- Calls `visit` with a list of members for each block: those that begin with `head`, match a pattern and don't come before the place.
-- Returns nil at the end, or the place where to continue. Ends early if `visit` returns true.
local function scan(head, pattern, place, visit)
  local last = '(' .. head .. '\255'
  local key, entry = placeOf(place)
  local ahead, at = {}, 1
  while key do
    blocksRead = blocksRead + 1
    if visit(matching(key, pattern)) then
      return nil
    end
    if entry and not ahead[at] then
      ahead, at = redis.call('ZRANGEBYLEX', directory, '(' .. entry, last, 'LIMIT', '0', '16'), 1
    end
    entry, at = ahead[at], at + 1
    key = entry and keyOf(entry)
    if key and blocksRead >= maxBlocksRead then
      return startOf(entry)
    end
  end
end
