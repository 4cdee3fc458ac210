#!lua flags=no-writes
-- Finds the best entries whose words the tokens begin, each token a word of its own.
--
-- KEYS
--   directory    see book.apply.lua
--   cards        see book.apply.lua
--   firstBlock   see book.apply.lua
--   tops         see book.apply.lua
--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none
-- ARGV
--   halfLifeMs   as for book.apply.lua
--   limit        the most entries
--   afterRank    the rank of the last one of the page before, or nothing
--   afterMember  its member
--   place        where an earlier call stopped, or nothing
--   prefix       the first token, no other is longer; empty: all entries have it, if it is the only one
--   others...    the other tokens
-- RETURNS
--   an array with the member by which each entry was found, and its rank behind it, the best first. Alone if no entry has a card,
--   there is no half-life, and nothing is left to do. Else behind it: an array with the card of each or an empty string, or empty if
--   none has one; how many half-lives the server's clock counts, 0 without; and where to go on, because the work of one call
--   is bounded: nothing if all is found, the rank and the member behind which to look, or the place
local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local afterRank, afterMember, place, prefix = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local others = ARGV

-- Most calls end here: a heavy prefix of a book of handles. So nothing is prepared before.
local find = string.find
if not others[7] and afterRank == '' and halfLifeMs == 0 then
  local top = redis.call('ZRANGE', tops .. prefix, 0, limit - 1, 'WITHSCORES')
  if #top == 2 * limit and not find(table.concat(top), '\1', 1, true) then
    return { top }
  end
end

-- include book.places.part.lua
-- include book.ranked.part.lua
-- include book.score.part.lua
-- include book.forms.part.lua
-- include book.tell.part.lua
-- include book.scan.part.lua

local tokens = { unpack(others, 6) }
local cursor = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank) } or nil
local function fit(form)
  return (tokens[2] and fitsPair or fitsTurned)(form, tokens)
end

-- include book.heap.part.lua
-- include book.walk.part.lua

local function tellAll(found)
  readCards(found)
  for _, one in ipairs(found) do
    if #told == limit then
      break
    elseif isTurned(one.member) or tokens[2] then
      tell(one, fit, cursor)
    end
  end
end

if not tokens[2] then
  local found = cursor and {} or bestOf(tops .. prefix, limit)
  tellAll(found)
  if #told == limit then
    return replyWith({})
  elseif not found[1] and redis.call('EXISTS', tops .. prefix) == 0 then
    -- A light prefix, all of which is in two blocks.
    local MOST_LIGHT = 1000
    tellAll(expand(prefix, MOST_LIGHT, cursor))
    return replyWith({})
  end
  local isAll, last = walk({ { head = prefix, tail = '*' } }, true)
  return replyWith(isAll and {} or { last.text, last.member })
end

-- Either token may belong to the lesser word.
local queries = {}
for _, pair in ipairs({ { tokens[1], tokens[2] }, { tokens[2], tokens[1] } }) do
  local tail = '* ' .. literal(pair[1]) .. '* ' .. literal(pair[2]) .. '*'
  queries[#queries + 1] = { head = '\3' .. inTurn(pair[1], pair[2]), tail = tail }
end
if place == '' then
  if walk(queries) then
    return replyWith({})
  end
  replies, told, hasCards, known = {}, {}, false, {}
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
tellAll(found)
return replyWith(rest or {})
