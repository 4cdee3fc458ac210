-- Blocks that grow too large or too small.
-- Expects: book.tops.part.lua and book.marking.part.lua before it, meta.

-- The listpack of a sorted set ends at 128 members, by the server's default.
local MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 46, 8, 30

local function contentOf(key)
  local list, found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
  for i = 1, #list, 2 do
    found[#found + 1] = { member = list[i], rank = list[i + 1] }
  end
  return found
end

-- Calls `act` with each prefix of the start of a block for which so many blocks begin within it, the longest first.
local function eachPrefixWith(start, count, act)
  local found, cut = {}, 0
  while cut < #start do
    local prefix = sub(start, 1, cut)
    local starts = redis.call('ZLEXCOUNT', directory, '(' .. prefix .. '\1', '(' .. prefix .. '\255')
    if starts == count then
      found[#found + 1] = prefix
    elseif starts < count then
      break
    end
    cut = cut + 1
  end
  for i = #found, 1, -1 do
    act(found[i])
  end
end

local function split(key, entry)
  local all = contentOf(key)
  table.sort(all, function(a, b)
    return isBefore(a.member, b.member)
  end)
  local half = math.floor(#all / 2)
  local low, high = all[half].member, all[half + 1].member
  -- The shortest text that tells the two halves apart.
  local cut = 0
  repeat
    cut = endOf(high, cut + 1)
  until sub(low, 1, cut) ~= sub(high, 1, cut)
  local start = sub(high, 1, cut)
  local upper, names = {}, {}
  for i = half + 1, #all do
    upper[i - half], names[i - half] = all[i], all[i].member
  end
  local id = redis.call('HINCRBY', meta, 'blocks', 1)
  -- The block that a book begins with has an entry as soon as there is another one.
  if not entry then
    redis.call('ZADD', directory, '0', '\0000')
  end
  redis.call('ZADD', directory, '0', start .. '\0' .. id)
  append(blocks .. id, upper)
  redis.call('ZREM', key, unpack(names))
  eachPrefixWith(start, 2, build)
  renewMarks()
end

local function namesOf(content)
  local names = {}
  for i, one in ipairs(content) do
    names[i] = one.member
  end
  return names
end

-- Takes the block of an entry into the one before it.
local function join(into, entry)
  local from = keyOf(entry)
  local moved = contentOf(from)
  if #moved > 0 then
    append(keyOf(into), moved)
    redis.call('DEL', from)
    -- They may come where new marks have been made.
    mark(newMarks, namesOf(moved))
  end
  redis.call('ZREM', directory, entry)
  eachPrefixWith(sub(entry, 1, find(entry, '\0', 1, true) - 1), 1, function(prefix)
    redis.call('DEL', tops .. prefix)
  end)
  if redis.call('ZCARD', directory) == 1 then
    redis.call('DEL', directory)
    dropMarks()
  else
    renewMarks()
  end
end

-- A block from which something was taken joins a neighbour if both are small.
local function shrink(key, entry)
  local count = redis.call('ZCARD', key)
  if not entry or count >= LEAST_BLOCK then
    return
  end
  local next = redis.call('ZRANGEBYLEX', directory, '(' .. entry, '+', 'LIMIT', '0', '1')[1]
  local previous = redis.call('ZREVRANGEBYLEX', directory, '(' .. entry, '-', 'LIMIT', '0', '1')[1]
  if previous and (count == 0 or count + redis.call('ZCARD', keyOf(previous)) <= MERGED_BLOCK) then
    join(previous, entry)
  elseif next and (count == 0 or count + redis.call('ZCARD', keyOf(next)) <= MERGED_BLOCK) then
    join(entry, next)
  end
end
