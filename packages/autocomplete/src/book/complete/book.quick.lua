#!lua flags=no-writes
-- Finds the best entries with a word that begins with a token: the common queries, many in one call. Members stay in the flat lists of
-- the commands, and an answer is one text. That takes half the time of book.complete.lua.
--
-- KEYS
--   directory    see book.apply.lua
--   cards        see book.apply.lua
--   firstBlock   see book.apply.lua
--   tops         see book.apply.lua
--   absent       never exists: while the slot moves, a node that lacks one of the keys refuses the call
-- ARGV
--   halfLifeMs   as for book.apply.lua
--   queries...   for each: the index of the last wanted entry, from 0 for the best; the token, empty for all entries
-- RETURNS
--   for each query a text: the matching member and the rank of each entry, the best first, separated by \2. If an entry has a card, the
--   text begins with \2, and the card or an empty text follows each rank. Or nil where the top set has too few entries:
--   book.complete.lua finds them. The last value is the server's time in half-lives, or 0
local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local halfLifeMs = tonumber(ARGV[1])
local queries = ARGV
local find, concat = string.find, table.concat

-- The common case: a heavy prefix in a book of handles. Members without a key are handles, each an entry of its own. It comes before any
-- other work, because making the functions below takes as long as such an answer.
local answers, tried, isDone = {}, {}, halfLifeMs == 0
for i = 2, #queries, 2 do
  local list = redis.call('ZRANGE', tops .. queries[i + 1], '0', queries[i], 'WITHSCORES')
  local text = #list == 2 * (queries[i] + 1) and concat(list, '\2')
  if text and not find(text, '\1', 1, true) then
    answers[i / 2] = text
  else
    answers[i / 2], tried[i], isDone = false, list, false
  end
end
if isDone then
  answers[#answers + 1] = '0'
  return answers
end

-- include book.places.part.lua
-- include book.score.part.lua

-- Members and ranks of a block that match a pattern, the best first. All of them are equal before byte `from`.
local function pairsIn(key, pattern, from)
  local list = redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2]
  local before
  for i = 2, #list, 2 do
    local rank = tonumber(list[i])
    if before and (rank < before or rank == before and not isBefore(list[i - 3], list[i - 1], from)) then
      -- With a name of more than 64 bytes Redis does not store the block as a list, and ZSCAN has no order.
      local ordered = {}
      for at, one in ipairs(inOrder(list)) do
        ordered[2 * at - 1], ordered[2 * at] = one.member, one.text
      end
      return ordered
    end
    before = rank
  end
  return list
end

-- The best of two lists of members and ranks, up to a number.
local function merge(a, b, most, from)
  local all, i, j = {}, 1, 1
  local x, y = tonumber(a[2]), tonumber(b[2])
  for at = 1, 2 * most, 2 do
    if x and (not y or x < y or x == y and isBefore(a[i], b[j], from)) then
      all[at], all[at + 1], i = a[i], a[i + 1], i + 2
      x = tonumber(a[i + 1])
    elseif y then
      all[at], all[at + 1], j = b[j], b[j + 1], j + 2
      y = tonumber(b[j + 1])
    else
      break
    end
  end
  return all
end

-- The answer from members and ranks, each entry once, and whether it has as many as wanted. The forms of two words don't count.
local function answerOf(list, limit)
  local ids, found, seen = {}, {}, {}
  for i = 1, #list, 2 do
    local member = list[i]
    local separator = find(member, '\1', 1, true)
    local id = separator and sub(member, separator + 1) or member
    if not seen[id] and byte(member, 1) ~= 3 then
      seen[id] = true
      ids[#ids + 1], found[#found + 1], found[#found + 2] = id, member, list[i + 1]
      if #ids == limit then
        break
      end
    end
  end
  if not ids[1] then
    return '', false
  end
  local known, all = redis.call('HMGET', cards, unpack(ids)), { '' }
  for i = 1, #ids do
    all[3 * i - 1], all[3 * i], all[3 * i + 1] = found[2 * i - 1], found[2 * i], known[i] or ''
    known.isAny = known.isAny or known[i]
  end
  return concat(known.isAny and all or found, '\2'), #ids == limit
end

-- `list`: the members and ranks of the top set, as many as are wanted.
local function answerTo(last, prefix, list)
  local limit = last + 1
  if list[1] then
    local text, isEnough = answerOf(list, limit)
    if not isEnough and #list == 2 * limit then
      text, isEnough = answerOf(redis.call('ZRANGE', tops .. prefix, '0', '-1', 'WITHSCORES'), limit)
    end
    return isEnough and text
  end
  local places = lightPlacesOf(prefix)
  if not places then
    return false
  end
  local from, pattern, more = #prefix + 1, literal(prefix) .. '*', nil
  list = pairsIn(places[1], pattern, from)
  if places[2] then
    more = pairsIn(places[2], pattern, from)
    if list[1] and more[1] then
      list, more = merge(list, more, limit, from), { list, more }
    else
      list, more = list[1] and list or more, nil
    end
  end
  local text = concat(list, '\2', 1, math.min(#list, 2 * limit))
  if find(text, '\1', 1, true) then
    text = answerOf(more and merge(more[1], more[2], 1000, from) or list, limit)
  end
  return text
end

for i = 2, #queries, 2 do
  if tried[i] then
    answers[i / 2] = answerTo(queries[i], queries[i + 1], tried[i])
  end
end
answers[#answers + 1] = halfLives == 0 and '0' or string.format('%.17g', halfLives)
return answers
