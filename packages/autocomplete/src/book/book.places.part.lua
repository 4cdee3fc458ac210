-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server.
-- Expects: directory, firstBlock, tops, find.
local sub, byte = string.sub, string.byte
local blocks = sub(firstBlock, 1, -2)

local function isBefore(a, b)
  local at = 1
  while true do
    local x, y = byte(a, at), byte(b, at)
    if x ~= y then
      return (x or -1) < (y or -1)
    elseif not x then
      return false
    end
    at = at + 1
  end
end

-- The best first: ranks are negated scores, and members of one score stand in the order of their bytes.
local function precedes(a, b)
  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)
end

-- Where the code point ends that begins at a byte.
local function endOf(text, at)
  local first = byte(text, at)
  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)
end

local function keyOf(entry)
  return blocks .. sub(entry, find(entry, '\0', 1, true) + 1)
end

-- The block that a member belongs to, and its entry in the directory; a book of one block has none.
local function placeOf(member)
  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\1', '-', 'LIMIT', 0, 1)[1]
  return entry and keyOf(entry) or firstBlock, entry
end

-- A text as a pattern that only it matches.
local function literal(text)
  return find(text, '[%*%?%[%\\]') and string.gsub(text, '[%*%?%[%\\]', '\\%0') or text
end

-- The members of a block or top set that match a pattern, the best first. The server looks through them: a third of what it costs to
-- bring all of a block into the script. COUNT is more than there are, so one call is all, and a set in a list comes in its order.
local function matching(key, pattern)
  local list, found = redis.call('ZSCAN', key, 0, 'MATCH', pattern, 'COUNT', 1000)[2], {}
  local isSorted = true
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

-- What a prefix consists of: the prefixes, one byte longer, that are heavy, and the blocks that hold anything else of it. Bytes
-- and not code points, so that no alphabet gives a prefix more than a few dozen parts: of Han there are thousands.
-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones
-- in it, and one or two blocks.
local function partsOf(prefix)
  local last = '(' .. prefix .. '\255'
  local entries = redis.call('ZREVRANGEBYLEX', directory, last, '-', 'LIMIT', 0, 2)
  if not entries[1] then
    return { firstBlock }, {}
  end
  local found, children = {}, {}
  for i, entry in ipairs(entries) do
    found[i] = keyOf(entry)
    if sub(entry, 1, #prefix) ~= prefix or byte(entry, #prefix + 1) == 0 then
      return found, children
    end
  end
  local entry = redis.call('ZRANGEBYLEX', directory, '(' .. prefix .. '\1', last, 'LIMIT', 0, 1)[1]
  found = { (placeOf(prefix)) }
  local heavy
  -- The block in which a heavy part ends may go on behind it; not if another one is next to it, as b is to a.
  local function leave(child)
    local isNext = child and byte(heavy, -1) + 1 == byte(child, -1)
    if not isNext then
      found[#found + 1] = placeOf(heavy .. '\254')
    end
  end
  while entry do
    local child = sub(entry, 1, #prefix + 1)
    local isHeavy = redis.call('EXISTS', tops .. child) == 1
    if heavy then
      leave(isHeavy and child)
    end
    heavy = isHeavy and child
    children[#children + 1] = heavy or nil
    found[#found + 1] = not heavy and keyOf(entry) or nil
    entry = redis.call('ZRANGEBYLEX', directory, '(' .. (heavy and child .. '\255' or entry), last, 'LIMIT', 0, 1)[1]
  end
  if heavy then
    leave()
  end
  return found, children
end
