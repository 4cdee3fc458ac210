#!lua flags=no-writes
-- Finds the best entries whose words begin with the tokens, a different word for each token.
--
-- KEYS
--   directory    see book.apply.lua
--   cards        see book.apply.lua
--   firstBlock   see book.apply.lua
--   tops         see book.apply.lua
--   absent       never exists: while the slot moves, a node that lacks one of the keys refuses the call
-- ARGV
--   halfLifeMs   as for book.apply.lua
--   limit        maximum of entries
--   afterRank    the rank of the last entry of the previous page, or empty
--   afterMember  its member
--   depth        the number of entries before this page
--   place        where an earlier call stopped, or empty
--   prefix       the longest token; an empty one as the only token matches all entries
--   others...    the other tokens
-- RETURNS
--   an array of the matching member and the rank of each entry, the best first. If an entry has a card, or there is a half-life or
--   more to do, three values follow: an array with the card or an empty string for each entry, or empty if none has a card; the
--   server's time in half-lives, or 0; and where to continue, because the work of one call is bounded: empty at the end, or the rank
--   and member after which to search, or the place
local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local afterRank, afterMember, depth = ARGV[3], ARGV[4], tonumber(ARGV[5])
local place, prefix = ARGV[6], ARGV[7]
local others = ARGV

-- The common case, before any other work: a heavy prefix in a book of handles.
local find = string.find
if not others[8] and afterRank == '' and halfLifeMs == 0 then
  local top = redis.call('ZRANGE', tops .. prefix, 0, limit - 1, 'WITHSCORES')
  if #top == 2 * limit and not find(table.concat(top), '\1', 1, true) then
    return { top }
  end
end

-- include book.places.part.lua
-- include book.ranked.part.lua
-- include book.score.part.lua
-- include book.forms.part.lua
-- include book.reply.part.lua
-- include book.scan.part.lua

local tokens = { unpack(others, 7) }
local cursor = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank), text = afterRank } or nil
local function fit(form)
  return (tokens[2] and fitsPair or fitsTurned)(form, tokens)
end

-- include book.heap.part.lua

-- The best members that fit the tokens. A walk through the tree of top sets always reads the part that may have the next member.
-- A walk ends after this many parts.
local MOST_WALKED = 150

-- After a cursor, parts are read from its rank on. First one member, since most parts have none of the next entries; then more at once.
local MORE_AT_ONCE = 16

-- Adds members to the reply, up to the limit. Returns whether the walk is complete, and the last added member. Members of a query begin
-- with `head`, followed by the pattern `tail`. The reply is complete up to the last added member, so a walk that can continue after it
-- ends only when it has added one.
local function walk(queries, canGoOn)
  local heap, seen, walked, final = { size = 0 }, {}, 0, nil
  local giveUpAt = canGoOn and math.huge or MOST_WALKED

  local function add(one)
    if not seen[one.member] and (not cursor or precedes(cursor, one)) and fit(formIn(one.member)) then
      seen[one.member] = true
      push(heap, one)
    end
  end

  -- Adds members of a part after the cursor, and records where more may follow.
  local function readAfterCursor(key, prefix, offset)
    local most = offset == 0 and 1 or MORE_AT_ONCE
    local list = redis.call('ZRANGEBYSCORE', key, cursor.text, '+inf', 'WITHSCORES', 'LIMIT', offset, most)
    for i = 1, #list, 2 do
      local member, text = list[i], list[i + 1]
      if begins(member, prefix) then
        add({ member = member, rank = tonumber(text), text = text })
      end
    end
    if #list == 2 * most then
      local last = { member = list[#list - 1], rank = tonumber(list[#list]) }
      last.key, last.within, last.offset = key, prefix, offset + most
      push(heap, last)
    end
  end

  -- A prefix that reaches into the words contains a beginning of the tail.
  local function readPart(key, prefix, tail)
    walked = walked + 1
    if cursor and tail == '*' then
      return readAfterCursor(key, prefix, 0)
    end
    local pattern = literal(prefix) .. (find(prefix, ' ', 1, true) and '*' or tail)
    for _, one in ipairs(matching(key, pattern)) do
      add(one)
    end
  end

  -- Whether no member of a prefix with the rank of the cursor is after the cursor. Then all its other members have later ranks.
  local function isPassed(prefix)
    return isBefore(prefix, sub(cursor.member, 1, #prefix))
  end

  -- Reads the top set of a prefix, and records that more members may follow its last one.
  local function open(prefix, tail)
    local top = tops .. prefix
    local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')
    if last[1] then
      local one = { member = last[1], rank = tonumber(last[2]), prefix = prefix, tail = tail }
      if not cursor or precedes(cursor, one) then
        readPart(top, prefix, tail)
      elseif isPassed(prefix) then
        one.member, one.rank = '\255', cursor.rank
      end
      push(heap, one)
    else
      for _, key in ipairs((partsOf(prefix))) do
        readPart(key, prefix, tail)
      end
    end
  end

  for _, query in ipairs(queries) do
    open(query.head, query.tail)
  end
  while heap.size > 0 and #replyCards < limit do
    local one = pop(heap)
    if one.key then
      readAfterCursor(one.key, one.within, one.offset)
    elseif not one.prefix then
      readCards({ one })
      final = addToReply(one, fit, cursor) and one or final
      giveUpAt = final and math.min(giveUpAt, walked + MOST_WALKED) or giveUpAt
    elseif walked >= giveUpAt then
      return false, final
    else
      local places, children = partsOf(one.prefix)
      for _, key in ipairs(places) do
        readPart(key, one.prefix, one.tail)
      end
      for _, child in ipairs(children) do
        if child ~= '\3' then
          open(child, one.tail)
        end
      end
    end
  end
  return true
end

local function addAll(found)
  readCards(found)
  for _, one in ipairs(found) do
    if #replyCards == limit then
      break
    elseif isTurned(one.member) or tokens[2] then
      addToReply(one, fit, cursor)
    end
  end
end

-- include book.deep.section.lua

if not tokens[2] then
  if cursor and isDeep(depth) then
    addAll(readDeep())
    return replyWith({})
  end
  local found = cursor and {} or bestOf(tops .. prefix, limit)
  addAll(found)
  if #replyCards == limit then
    return replyWith({})
  elseif not found[1] and redis.call('EXISTS', tops .. prefix) == 0 then
    -- A light prefix: two blocks have all of its members.
    local MOST_LIGHT = 1000
    addAll(expand(prefix, MOST_LIGHT, cursor))
    return replyWith({})
  end
  local isAll, last = walk({ { head = prefix, tail = '*' } }, true)
  return replyWith(isAll and {} or { last.text, last.member })
end

-- Either token may belong to the lesser word.
local queries = {}
for _, pair in ipairs({ { tokens[1], tokens[2] }, { tokens[2], tokens[1] } }) do
  local tail = '* ' .. literal(pair[1]) .. '* ' .. literal(pair[2]) .. '*'
  queries[#queries + 1] = { head = '\3' .. alternate(pair[1], pair[2]), tail = tail }
end
if place == '' then
  if walk(queries) then
    return replyWith({})
  end
  replies, replyCards, hasCards, known = {}, {}, false, {}
end

local found, rest = {}, nil
for i = place ~= '' and tonumber(sub(place, 1, 1)) or 1, #queries do
  local query = queries[i]
  local from = place ~= '' and sub(place, 2) or query.head
  place = ''
  rest = scan(query.head, literal(query.head) .. query.tail, from, function(list)
    for _, one in ipairs(list) do
      if (not cursor or precedes(cursor, one)) and fit(formIn(one.member)) then
        found[#found + 1] = one
      end
    end
  end)
  if rest then
    rest = { i .. rest }
    break
  end
end
table.sort(found, precedes)
addAll(found)
return replyWith(rest or {})
