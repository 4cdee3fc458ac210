-- A page so far from the best entry that many blocks of the prefix have members before it. Then a walk through the top sets reads most
-- blocks as well, and finding them one by one takes longer than reading them. So this reads the blocks in their order, of each only the
-- members between the cursor and the last wanted entry that is known so far: none of most blocks. A block takes about 2.3 µs, a third of
-- what it takes in a walk. Separate from book.complete.lua only for readability. Expects: book.reply.part.lua before it, prefix, limit,
-- cursor, fit.

-- With an empty prefix every entry has members other than forms of two words, which come first.
local head, last = prefix == '' and '\4' or prefix, '(' .. prefix .. '\255'

-- Whether the page is so deep. `depth`: the number of entries before it.
local function isDeep(depth)
  local starts = redis.call('ZLEXCOUNT', directory, '(' .. head .. '\1', last)
  return starts > 0 and starts <= 2 * depth
end

-- The best members after the cursor, one for each entry, up to the limit.
local function readDeep()
  local found, final, least, most, isPast = {}, nil, cursor.text, '+inf', false

  -- Leaves the best ones in `found`. The last of them ends what is read from then on.
  local function cut()
    table.sort(found, precedes)
    readCards(found)
    local kept, seen = {}, {}
    for _, one in ipairs(found) do
      local id = one.separator and sub(one.member, one.separator + 1) or one.member
      if not seen[id] and not (one.separator and one.rank == cursor.rank and not isFirst(one, fit)) then
        seen[id], kept[#kept + 1] = true, one
        if #kept == limit then
          break
        end
      end
    end
    found = kept
    if kept[limit] then
      final, most, isPast = kept[limit], kept[limit].text, false
    end
  end

  -- Reads a block, which begins with `start`. Returns whether no later block can have a better member.
  local function read(key, start)
    if final and not isPast and isBefore(final.member, start) then
      most, isPast = '(' .. final.text, true
    end
    local list = redis.call('ZRANGEBYSCORE', key, least, most, 'WITHSCORES')
    for i = 1, #list, 2 do
      local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }
      if begins(one.member, prefix) and isTurned(one.member) and precedes(cursor, one) then
        found[#found + 1] = one
      end
    end
    if #found > limit + 20 or not final and #found >= limit then
      cut()
    end
    return isPast and final.rank == cursor.rank
  end

  -- Reads the block of a text, and those after it up to a bound. Returns whether the page is complete.
  local function readFrom(text, upTo)
    local key, entry = placeOf(text)
    local start, ahead, at, entriesAtOnce = text, {}, 1, 16
    while key do
      if read(key, start) then
        return true
      end
      if not ahead[at] then
        ahead, at = redis.call('ZRANGEBYLEX', directory, '(' .. entry, upTo, 'LIMIT', '0', entriesAtOnce), 1
        entriesAtOnce = 500
      end
      entry, at = ahead[at], at + 1
      key, start = entry and keyOf(entry), entry
    end
    return false
  end

  -- From the cursor on, members with its rank are next. Blocks before its own have none of these.
  local _, entry = placeOf(cursor.member)
  if not readFrom(cursor.member, last) and isBefore(head, entry) then
    least = '(' .. cursor.text
    isPast, most = false, final and final.text or '+inf'
    readFrom(head, '(' .. entry)
  end
  cut()
  return found
end
