#!lua
-- Adds entries to a book, removes them, or changes their scores, one after another.
--
-- An entry has one member for each form by which it is found. All of them have its rank, which is the negated score. Its
-- card has all other data. An entry without a card is a handle: its key determines its members.
--
-- KEYS
--   directory    ZSET with score 0 of <start> NUL <number of block>, in a book of several blocks; until one block is left
--   meta         HASH: size (entries), blocks (the highest number), markedUntil (the blocks at which the next rebuild of the marks
--                begins), markedTo (how far a rebuild has come); until the book is empty
--   cards        HASH encoded key -> forms, separated by \1, NUL, and data that Lua does not read; until the last card goes
--   firstBlock   ZSET member -> rank; other blocks have other numbers at the end of the name; until it is empty
--   tops         the beginning of the names of top sets, followed by the prefix: ZSET member -> rank; until the prefix is light
--   requests     the beginning of the names of boosts with an id: STRING <amount> NUL <encoded key> NUL <new score>; for an hour
--   marks        STRING of bits for the beginnings of members, in a book of 64 blocks and more; until one block is left. With :new, during a rebuild
--   absent       never exists: while the slot moves, a node that lacks one of the keys refuses the call
-- ARGV
--   halfLifeMs   the half-life of scores, ms; 0: scores keep their values
--   changes...   for each change: add, remove or boost; the encoded key; the score or the amount of a boost, empty to keep the score; the
--                card or the encoded id of a boost, or empty; the number of members that the key determines, and these; for add: the
--                number of members of the entry, and these
-- RETURNS
--   for each add and remove 1 if the entry existed, else 0; for each boost the new score as a string, an empty string without such
--   an entry, or ! if another boost has had its id
local directory, meta, cards, firstBlock, tops = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local requests, marks, absent = KEYS[6], KEYS[7], KEYS[8]
local halfLifeMs = tonumber(ARGV[1])
local changes = ARGV
local find = string.find
local REQUEST_MS = '3600000'

-- include book.places.part.lua
-- include book.ranked.part.lua
-- include book.forms.part.lua
-- include book.score.part.lua
-- include book.tops.section.lua
-- include book.marks.part.lua
-- include book.marks.section.lua

-- Blocks split when they are too large, and join a neighbour when they are too small. The listpack of a sorted set ends at 128 members, by the server's default.
local MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 46, 8, 30

local function contentOf(key)
  local list, found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
  for i = 1, #list, 2 do
    found[#found + 1] = { member = list[i], rank = list[i + 1] }
  end
  return found
end

-- The members of a block in the order of bytes. Lua sorts numbers five times as fast as texts that are compared byte by byte. So a member
-- counts as the number of its six bytes after the common beginning, unless two are equal.
local function inByteOrder(all)
  local first, same = all[1].member, #all[1].member
  for i = 2, #all do
    while sub(all[i].member, 1, same) ~= sub(first, 1, same) do
      same = same - 1
    end
  end
  local numbers, of = {}, {}
  for i = 1, #all do
    local a, b, c, d, e, f = byte(all[i].member, same + 1, same + 6)
    local low = ((d or -1) * 257 + (e or -1)) * 257 + (f or -1)
    local number = (((a or -1) * 257 + (b or -1)) * 257 + (c or -1)) * 257 ^ 3 + low
    if of[number] then
      table.sort(all, function(x, y)
        return isBefore(x.member, y.member)
      end)
      return all
    end
    numbers[i], of[number] = number, all[i]
  end
  table.sort(numbers)
  for i, number in ipairs(numbers) do
    numbers[i] = of[number]
  end
  return numbers
end

-- Calls `act` with each prefix of the start of a block in which `count` blocks begin, the longest first.
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

-- The last member that this call added to each block.
local lastIn = {}

-- The number of members that stay in a block that splits, after a member came in: half of them. In a load in the order of names the next
-- members follow this one. Then its block ends with it, or if it did already, a block begins with it. In the reverse order, the block of
-- others begins after it. So such a load leaves full blocks.
local function cutOf(all, key, member)
  local count, last = #all, lastIn[key]
  for i = 1, last and count or 0 do
    if all[i].member == member then
      if i > 1 and all[i - 1].member == last then
        return math.min(i, count - 1)
      elseif i == 1 and all[2].member == last then
        return 1
      end
      break
    end
  end
  return math.floor(count / 2)
end

local function split(key, entry, member)
  local all = inByteOrder(contentOf(key))
  local half = cutOf(all, key, member)
  local low, high = all[half].member, all[half + 1].member
  -- The shortest text that separates the two halves.
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
  -- The first block gets an entry together with the second block.
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

-- Merges the block of an entry into the block before it.
local function join(into, entry)
  local from = keyOf(entry)
  local moved = contentOf(from)
  if #moved > 0 then
    append(keyOf(into), moved)
    redis.call('DEL', from)
    -- A rebuild may have passed the block that the members move to.
    mark(newMarks, namesOf(moved))
  end
  redis.call('ZREM', directory, entry)
  eachPrefixWith(sub(entry, 1, find(entry, '\0', 1, true) - 1), 1, function(prefix)
    dropTop(prefix)
  end)
  if redis.call('ZCARD', directory) == 1 then
    redis.call('DEL', directory)
    dropMarks()
  else
    renewMarks()
  end
end

-- Joins a block with a neighbour after a removal, if both are small.
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

-- The number of members of blocks, once it is known.
local counts = {}

-- `key` and `entry` may be given: the place of the member. Returns whether the member is new.
local function put(member, rank, key, entry)
  if not key then
    key, entry = placeOf(member)
  end
  local isNew = redis.call('ZADD', key, rank, member) == 1
  if isNew and entry then
    added[#added + 1] = member
  end
  if isNew then
    local count = counts[key] and counts[key] + 1 or redis.call('ZCARD', key)
    counts[key] = count
    if count > MOST_BLOCK then
      split(key, entry, member)
      counts[key] = nil
      -- The block that gets the next member of such a load.
      key = placeOf(member)
    end
  end
  lastIn[key] = member
  updateTops(member, tonumber(rank), isNew)
  return isNew
end

local function drop(member)
  counts = {}
  local key, entry = placeOf(member)
  redis.call('ZREM', key, member)
  updateTops(member)
  shrink(key, entry)
end

-- Whether there may be cards, and the number of new entries that are not yet counted.
local hasCards, uncounted = redis.call('EXISTS', cards) == 1, 0
local replies, at = {}, 2
local function readMembers()
  local count, members = tonumber(changes[at]), {}
  for i = 1, count do
    members[i] = changes[at + i]
  end
  at = at + count + 1
  return members
end

-- The member of an entry in the top set of the whole book.
local function firstOf(members)
  local first
  for _, member in ipairs(members) do
    first = isTurned(member) and not (first and isBefore(first, member)) and member or first
  end
  return first
end

-- Adds a handle with a score, the usual entry of a load: its only member tells whether it is new. Returns the reply.
local function addHandle(member, score)
  local now = rankOf(score)
  local isNew = put(member, now)
  updateWholeTop(member, tonumber(now), isNew)
  uncounted = uncounted + (isNew and 1 or 0)
  return isNew and 0 or 1
end

-- Applies the next change, and returns its reply.
local function applyNext()
  local what, id, amount, card = changes[at], changes[at + 1], changes[at + 2], changes[at + 3]
  at = at + 4
  local old = hasCards and redis.call('HGET', cards, id)
  local isHandle = what == 'add' and amount ~= '' and card == '' and not old and changes[at] == '1'
  if isHandle and changes[at + 2] == '1' and changes[at + 3] == changes[at + 1] then
    at = at + 4
    return addHandle(changes[at - 3], tonumber(amount))
  end
  local members = readMembers()
  if old then
    members = {}
    for form in string.gmatch(sub(old, 1, find(old, '\0', 1, true) - 1), '[^\1]+') do
      members[#members + 1] = form .. '\1' .. id
    end
  end
  -- A key without a word determines no members; its entry has a card.
  local place, placeEntry
  if members[1] then
    place, placeEntry = placeOf(members[1])
  end
  local rank = place and redis.call('ZSCORE', place, members[1])
  local reply = rank and 1 or 0
  local request = what == 'boost' and card ~= '' and requests .. card
  local isMade = request and redis.call('GET', request)
  local asked = amount .. '\0' .. id .. '\0'
  if isMade then
    reply = sub(isMade, 1, #asked) == asked and sub(isMade, #asked + 1) or '!'
  elseif what == 'add' then
    local wanted = readMembers()
    local now = amount ~= '' and rankOf(tonumber(amount)) or rank or rankOf(0)
    -- The card comes before the members, and the first member before the others: building a top set of the whole book reads both.
    if card ~= '' then
      redis.call('HSET', cards, id, card)
      hasCards = true
    elseif old then
      redis.call('HDEL', cards, id)
    end
    if rank then
      local keep = {}
      for _, member in ipairs(wanted) do
        keep[member] = true
      end
      for _, member in ipairs(members) do
        if not keep[member] then
          drop(member)
        end
      end
    else
      uncounted = uncounted + 1
    end
    local first = firstOf(wanted)
    if first == members[1] and (not rank or #members == 1) then
      put(first, now, place, placeEntry)
    else
      put(first, now)
    end
    for i = 1, #wanted do
      if wanted[i] ~= first then
        put(wanted[i], now)
      end
    end
    local before = rank and firstOf(members)
    if before and before ~= first then
      updateWholeTop(before)
    end
    updateWholeTop(first, tonumber(now), not rank)
  elseif not rank then
    reply = what == 'boost' and '' or 0
  elseif what == 'remove' then
    for _, member in ipairs(members) do
      drop(member)
    end
    if old then
      redis.call('HDEL', cards, id)
    end
    updateWholeTop(firstOf(members))
    uncounted = uncounted - 1
    if redis.call('HINCRBY', meta, 'size', uncounted) == 0 then
      redis.call('DEL', meta)
    end
    uncounted = 0
  else
    local before = tonumber(rank)
    local boosted = boost(before, tonumber(amount))
    local now = tonumber(boosted)
    for i, member in ipairs(members) do
      redis.call('ZADD', i == 1 and place or placeOf(member), boosted, member)
      updateTops(member, now, false, before)
    end
    updateWholeTop(firstOf(members), now, false, before)
    reply = string.format('%.17g', scoreOf(now))
    if request then
      redis.call('SET', request, asked .. reply, 'PX', REQUEST_MS)
    end
  end
  return reply
end

while changes[at] do
  replies[#replies + 1] = applyNext()
end
if uncounted > 0 then
  redis.call('HINCRBY', meta, 'size', uncounted)
end
markAdded()
return replies
