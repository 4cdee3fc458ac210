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
-- Marks (see book.marks.part.lua) are set for each new member. When the number of blocks has doubled since the last rebuild, all marks
-- are built again, a few blocks at a time. So the book has as many bits as it needs, and few for removed members.

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

-- Blocks split when they are too large, and join a neighbour when they are too small. The listpack of a sorted set ends at 128 members, by the server's default.
local MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 46, 8, 30

local function contentOf(key)
  local list, found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
  for i = 1, #list, 2 do
    found[#found + 1] = { member = list[i], rank = list[i + 1] }
  end
  return found
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
  local all = contentOf(key)
  table.sort(all, function(a, b)
    return isBefore(a.member, b.member)
  end)
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

-- `key` and `entry` may be given: the place of the member.
local function put(member, rank, key, entry)
  if not key then
    key, entry = placeOf(member)
  end
  local isNew = redis.call('ZADD', key, rank, member) == 1
  if isNew and entry then
    added[#added + 1] = member
  end
  if isNew and redis.call('ZCARD', key) > MOST_BLOCK then
    split(key, entry, member)
    -- The block that gets the next member of such a load.
    key = placeOf(member)
  end
  lastIn[key] = member
  updateTops(member, tonumber(rank), isNew)
end

local function drop(member)
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

while changes[at] do
  local what, id, amount, card = changes[at], changes[at + 1], changes[at + 2], changes[at + 3]
  at = at + 4
  local members = readMembers()
  local old = hasCards and redis.call('HGET', cards, id)
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
    local wanted, keep = readMembers(), {}
    local now = amount ~= '' and rankOf(tonumber(amount)) or rank or rankOf(0)
    for _, member in ipairs(wanted) do
      keep[member] = true
    end
    -- The card comes before the members, and the first member before the others: building a top set of the whole book reads both.
    if card ~= '' then
      redis.call('HSET', cards, id, card)
      hasCards = true
    elseif old then
      redis.call('HDEL', cards, id)
    end
    if rank then
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
    for _, member in ipairs(wanted) do
      if member ~= first then
        put(member, now)
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
  replies[#replies + 1] = reply
end
if uncounted > 0 then
  redis.call('HINCRBY', meta, 'size', uncounted)
end
markAdded()
return replies
