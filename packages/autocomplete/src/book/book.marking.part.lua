-- How marks are made: for each new member, and for all of them anew, some blocks at a time, when as many blocks have been made as there
-- were the last time. So there are as many bits as the book needs, and few for what has gone.
-- Expects: book.places.part.lua and book.marks.part.lua before it, directory, meta.

-- Bits for each block when they are made. Smaller books have none.
local BITS, LEAST_MARKED = 384, 64
-- Blocks that are marked anew with each one that splits or joins.
local MARKED_AT_ONCE = 4

local newMarks = marks .. ':new'
-- Bits of both behind the alphabet, once they are asked for; less than none if there are no marks.
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
  local alphabet, args, seen = redis.call('GETRANGE', key, '0', ALPHABET / 8 - 1), {}, {}
  local function set(at)
    if not seen[at] then
      local count = #args
      seen[at] = true
      args[count + 1], args[count + 2], args[count + 3], args[count + 4] = 'SET', 'u1', at, '1'
    end
  end
  for _, member in ipairs(members) do
    for _, length in ipairs(LENGTHS) do
      if #member >= length then
        set(bitOf(numberOf(byte(member, 1, length)), bits))
      end
    end
    for _, one in ipairs({ byte(member, 1, LENGTHS[#LENGTHS]) }) do
      if math.floor(byte(alphabet, math.floor(one / 8) + 1) / 2 ^ (7 - one % 8)) % 2 == 0 then
        set(one)
      end
    end
  end
  if args[1] then
    redis.call('BITFIELD', key, unpack(args))
  end
end

-- Goes on with new marks, or begins with them if it is time.
local function renewMarks()
  local known = redis.call('HMGET', meta, 'blocks', 'markedUntil', 'markedTo')
  local made, untilMade, from = tonumber(known[1]), tonumber(known[2] or '0'), known[3]
  -- New marks that were begun may be gone: evicted, or deleted by hand.
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
