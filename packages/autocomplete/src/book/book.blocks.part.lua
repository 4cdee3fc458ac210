-- Blocks that grow too large or too small.
-- Expects: book.tops.part.lua before it, meta.

-- The listpack of a sorted set ends at 128 members, by the server's default.
local MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 46, 8, 30
-- Marks of members that have gone stay, until there are so many.
local MOST_MARKS = 60

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

-- Marks, each once.
local function unionOf(marks, more)
  for mark in string.gmatch(more, '.') do
    marks = find(marks, mark, 1, true) and marks or marks .. mark
  end
  return marks
end

local function marksOf(entry)
  return sub(entry, marksFrom(entry))
end

local function marksIn(content)
  local marks = ''
  for _, one in ipairs(content) do
    marks = unionOf(marks, markOf(one.member) or '')
  end
  return marks
end

local function replaceEntry(entry, marks)
  if marks ~= marksOf(entry) then
    redis.call('ZREM', directory, entry)
    redis.call('ZADD', directory, '0', sub(entry, 1, -1 - #marksOf(entry)) .. marks)
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
  local lower, upper, names = {}, {}, {}
  for i, one in ipairs(all) do
    if i > half then
      upper[#upper + 1], names[#names + 1] = one, one.member
    else
      lower[i] = one
    end
  end
  local id = redis.call('HINCRBY', meta, 'blocks', 1)
  -- The block that a book begins with has an entry as soon as there is another one.
  if entry then
    replaceEntry(entry, marksIn(lower))
  else
    redis.call('ZADD', directory, '0', '\0000\0' .. marksIn(lower))
  end
  redis.call('ZADD', directory, '0', start .. '\0' .. id .. '\0' .. marksIn(upper))
  append(blocks .. id, upper)
  redis.call('ZREM', key, unpack(names))
  eachPrefixWith(start, 2, build)
end

-- Takes the block of an entry into the one before it.
local function join(into, entry)
  local from = keyOf(entry)
  local moved = contentOf(from)
  if #moved > 0 then
    append(keyOf(into), moved)
    redis.call('DEL', from)
  end
  redis.call('ZREM', directory, entry)
  replaceEntry(into, unionOf(marksOf(into), marksOf(entry)))
  eachPrefixWith(sub(entry, 1, find(entry, '\0', 1, true) - 1), 1, function(prefix)
    redis.call('DEL', tops .. prefix)
  end)
  if redis.call('ZCARD', directory) == 1 then
    redis.call('DEL', directory)
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
