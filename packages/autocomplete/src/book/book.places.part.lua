-- The blocks of a book. Bytes are compared one by one, because `<` on strings follows the locale of the server. Commands get numbers
-- as strings, because converting a number takes Lua longer than Redis takes to read it.
-- Expects: directory, firstBlock, tops, find.
local sub, byte = string.sub, string.byte
local blocks = sub(firstBlock, 1, -2)

-- Whether a text comes before another one. Both are equal before the byte `at`, by default the first.
local function isBefore(a, b, at)
  at = at or 1
  while true do
    local x, y = byte(a, at), byte(b, at)
    if x ~= y then
      return (x or -1) < (y or -1)
    elseif not x then
      return false
    end
    -- Equal names differ only in their keys, dozens of bytes later.
    at = at + (at > 2 and sub(a, at, at + 15) == sub(b, at, at + 15) and 16 or 1)
  end
end

-- Best first: ranks are negated scores, and members of one score are in the order of their bytes.
local function precedes(a, b)
  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)
end

-- The last byte of the code point that begins at a byte.
local function endOf(text, at)
  local first = byte(text, at)
  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)
end

-- An entry of the directory is the start of a block, NUL, and its number.
local function keyOf(entry)
  return blocks .. sub(entry, find(entry, '\0', 1, true) + 1)
end

-- The block of a member, and its entry in the directory. A book of one block has no entry.
local function placeOf(member)
  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\1', '-', 'LIMIT', '0', '1')[1]
  return entry and keyOf(entry) or firstBlock, entry
end

-- A pattern that matches exactly this text.
local function literal(text)
  return find(text, '[%*%?%[%\\]') and string.gsub(text, '[%*%?%[%\\]', '\\%0') or text
end

-- Objects from a flat list of members and ranks, best first.
local function inOrder(list)
  local found, isSorted = {}, true
  for i = 1, #list, 2 do
    local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }
    isSorted = isSorted and (i == 1 or precedes(found[#found], one))
    found[#found + 1] = one
  end
  if not isSorted then
    table.sort(found, precedes)
  end
  return found
end

-- The members of a block or top set that match a pattern, the best first. Filtering in the server costs a third of reading a whole block
-- into the script. COUNT is larger than any set, so one call is enough, and a set in a list comes in its order.
local function matching(key, pattern)
  return inOrder(redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2])
end

-- Whether a block begins inside a prefix, but not exactly at it.
local function isWithin(entry, part)
  return entry and sub(entry, 1, #part) == part and byte(entry, #part + 1) ~= 0
end

-- The blocks that may have members with a light prefix; nil for a heavy one.
local function lightPlacesOf(prefix)
  local entries = redis.call('ZREVRANGEBYLEX', directory, '(' .. prefix .. '\255', '-', 'LIMIT', '0', '2')
  if isWithin(entries[2], prefix) then
    return nil
  elseif not entries[1] then
    return { firstBlock }
  end
  return { keyOf(entries[1]), isWithin(entries[1], prefix) and keyOf(entries[2]) or nil }
end

-- The parts of a prefix: the blocks with members of it, and its heavy prefixes of one more byte, which stand for their own blocks. Bytes
-- and not code points: in any alphabet a prefix has a few dozen parts at most, while Han has thousands of code points.
-- A prefix is heavy, and has a top set, when two or more blocks begin inside it. A light one has no heavy parts, and one or two
-- blocks. The search goes backwards: the last two blocks before a place show whether the part is heavy, and where it ends.
local function partsOf(prefix)
  local found, children, above, bound = {}, {}, nil, prefix .. '\255'
  repeat
    local entries, at = redis.call('ZREVRANGEBYLEX', directory, '(' .. bound, '-', 'LIMIT', '0', '3'), 1
    if not entries[1] then
      return { firstBlock }, {}
    end
    bound = nil
    while not bound do
      local entry = entries[at]
      if not isWithin(entry, prefix) then
        found[#found + 1] = keyOf(entry)
        return found, children
      end
      local part = sub(entry, 1, #prefix + 1)
      local isHeavy = isWithin(entry, part) and isWithin(entries[at + 1], part)
      -- The last block of a heavy part may continue after it, unless the next byte is a heavy part too.
      if not (isHeavy and above and byte(above, -1) == byte(part, -1) + 1) then
        found[#found + 1] = keyOf(entry)
      end
      above = isHeavy and part
      if isHeavy then
        children[#children + 1], bound = part, part
      elseif at == 2 then
        bound = entry
      end
      at = at + 1
    end
  until false
end
