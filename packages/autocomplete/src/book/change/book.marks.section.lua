-- Marks (see book.marks.part.lua) are set for each new member. When the number of blocks has doubled since the last rebuild, all marks
-- are built again, a few blocks at a time. So the book has as many bits as it needs, and few for removed members.
-- Expects: book.places.part.lua and book.marks.part.lua before it, meta, find.

-- Bits for each block, and the minimum of blocks of a book with marks.
local BITS, LEAST_MARKED = 384, 64
-- Blocks that a rebuild marks with each split or join.
local MARKED_AT_ONCE = 4

local newMarks = marks .. ':new'
-- The number of bits after the alphabet, by key, once it is known. Negative without marks.
local bitsOf = {}

local function bitsIn(key)
  bitsOf[key] = bitsOf[key] or 8 * redis.call('STRLEN', key) - ALPHABET
  return bitsOf[key]
end

local function mark(key, members)
  local bits = bitsIn(key)
  if bits < 0 then
    return
  end
  local alphabet, args, seen, count = redis.call('GETRANGE', key, '0', ALPHABET / 8 - 1), {}, {}, 0
  local isKnown = {}
  local function set(at)
    if not seen[at] then
      seen[at] = true
      args[count + 1], args[count + 2], args[count + 3], args[count + 4] = 'SET', 'u1', at, '1'
      count = count + 4
    end
  end
  local function know(one)
    isKnown[one] = true
    if math.floor(byte(alphabet, math.floor(one / 8) + 1) / 2 ^ (7 - one % 8)) % 2 == 0 then
      set(one)
    end
  end
  for i = 1, #members do
    local a, b, c, d, e, f = byte(members[i], 1, LENGTHS[2])
    if e then
      local number = numberOf(a, b, c, d, e)
      set(bitOf(number, bits))
      if f then
        set(bitOf(numberOf(a, b, c, d, e, f), bits))
      end
    end
    -- Nearly always all of them are known.
    if not (isKnown[a] and isKnown[b or a] and isKnown[c or a] and isKnown[d or a] and isKnown[e or a] and isKnown[f or a]) then
      for _, one in ipairs({ a, b, c, d, e, f }) do
        if not isKnown[one] then
          know(one)
        end
      end
    end
  end
  if args[1] then
    redis.call('BITFIELD', key, unpack(args))
  end
end

-- Members that this call added and that have no marks yet. One command marks all of them.
local added = {}

local function markAdded()
  if added[1] then
    mark(marks, added)
    mark(newMarks, added)
    added = {}
  end
end

-- Continues a rebuild of the marks, or begins one if it is due.
local function renewMarks()
  markAdded()
  local known = redis.call('HMGET', meta, 'blocks', 'markedUntil', 'markedTo')
  local made, untilMade, from = tonumber(known[1]), tonumber(known[2] or '0'), known[3]
  -- The marks of a rebuild may be lost: evicted, or deleted by an operator.
  if not from or bitsIn(newMarks) < 0 then
    local count = redis.call('ZCARD', directory)
    if count < LEAST_MARKED or not from and made < untilMade then
      if from then
        redis.call('HDEL', meta, 'markedTo')
      end
      return
    end
    redis.call('DEL', newMarks)
    from, bitsOf[newMarks] = '', count * BITS
    redis.call('SETBIT', newMarks, ALPHABET + count * BITS - 1, '0')
    redis.call('HSET', meta, 'markedUntil', made + count)
  end
  local entries = redis.call('ZRANGEBYLEX', directory, '[' .. from, '+', 'LIMIT', '0', MARKED_AT_ONCE)
  for _, entry in ipairs(entries) do
    mark(newMarks, redis.call('ZRANGE', keyOf(entry), '0', '-1'))
    from = sub(entry, 1, find(entry, '\0', 1, true) - 1) .. '\1'
  end
  if #entries == MARKED_AT_ONCE then
    redis.call('HSET', meta, 'markedTo', from)
  else
    redis.call('RENAME', newMarks, marks)
    redis.call('HDEL', meta, 'markedTo')
    bitsOf = {}
  end
end

local function dropMarks()
  redis.call('DEL', marks, newMarks)
  redis.call('HDEL', meta, 'markedTo', 'markedUntil')
  bitsOf = {}
end
