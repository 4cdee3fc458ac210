#!lua flags=no-writes
-- Finds the best entries whose words the tokens begin after one edit in one of them, and not without. An edit puts in, takes out or
-- exchanges a code point, or swaps two. A single token may also lack the space between two words.
--
-- What takes out or exchanges the last one finds all that begins with the token without it, which is much and mostly not meant: so it
-- comes behind all else, and only of a single token.
--
-- KEYS
--   directory    see book.apply.lua
--   cards        see book.apply.lua
--   firstBlock   see book.apply.lua
--   tops         see book.apply.lua
--   marks        see book.apply.lua
--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none
-- ARGV
--   halfLifeMs   as for book.apply.lua
--   limit        the most entries
--   afterRank    the rank of the last one of the page before, or where an earlier call stopped, or nothing
--   afterMember  its member
--   isOfLast     1 if that was looked at for an edit of the last code point, else 0
--   tokens...    at least one of three code points or more
-- RETURNS
--   an array with the member by which each entry was found, and its rank behind it, the best first; an array with the card of each
--   or an empty string, or empty if none has one; how many half-lives the server's clock counts, 0 without; how many of the
--   entries were found by other edits than of the last code point: they come first; and where to go on, because the work of one call
--   is bounded: nothing if all is found or there are as many as wanted, or isOfLast, afterRank and afterMember
local directory, cards, firstBlock, tops, marks, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local afterRank, afterMember, isOfLast = ARGV[3], ARGV[4], ARGV[5] == '1'
local tokens = { unpack(ARGV, 6) }
local find = string.find

-- include book.places.part.lua
-- include book.heap.part.lua
-- include book.stream.part.lua
-- include book.score.part.lua
-- include book.forms.part.lua
-- include book.tell.part.lua
-- include book.scan.part.lua
-- include book.marks.part.lua
-- include book.edits.part.lua

local cursor = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank), text = afterRank } or nil

-- For each token that may be edited: it, and the others behind it.
local orders = {}
for i, token in ipairs(tokens) do
  if #pointsOf(token) >= LEAST_POINTS then
    local order = { token }
    for j, other in ipairs(tokens) do
      order[#order + 1] = j ~= i and other or nil
    end
    orders[#orders + 1] = order
  end
end

local function fit(form)
  for _, order in ipairs(orders) do
    if fitsEdited(form, order) then
      return true
    end
  end
  return false
end

-- Whether an entry is found without an edit.
local function isExact(one)
  for _, form in ipairs(formsOfEntry(one)) do
    if tokens[2] and assign(wordsIn(form), 1, tokens, 1) or not tokens[2] and fitsTurned(form, tokens) then
      return true
    end
  end
  return false
end

local function isFound(one)
  if isExact(one) then
    return true
  end
  for _, form in ipairs(formsOfEntry(one)) do
    if fit(form) then
      return true
    end
  end
  return false
end

-- Of what an edit finds, much may be found without one. Behind so many members that were looked at, another call goes on.
local MOST_CHECKED = 500
local FIRST_ASKED, checked = limit + 6, 0

-- Tells of those of the candidates that are wanted. Returns the last one that was looked at, if there may be more behind it.
local function tellAll(nextBest, isWanted, fits, after)
  while true do
    local list = {}
    for i = 1, math.min(limit - #told, MOST_CHECKED - checked) do
      list[i] = nextBest()
      if not list[i] then
        break
      end
    end
    readCards(list)
    for _, one in ipairs(list) do
      if isWanted(one) then
        tell(one, fits, after)
      end
    end
    checked = checked + #list
    if not list[1] or #told == limit or checked >= MOST_CHECKED then
      return list[#list]
    end
  end
end

local function tellEdited()
  return tellAll(candidates(orders, FIRST_ASKED, cursor), function(one)
    return fit(formIn(one.member)) and not isExact(one)
  end, fit, cursor)
end

-- All that begins with the token is found without an edit.
local function tellEditedLast()
  local points = pointsOf(tokens[1])
  local shorter = table.concat(points, '', 1, #points - 1)
  local after = isOfLast and cursor or nil
  local stream = newStream(FIRST_ASKED, after, tokens[1])
  stream.addPrefix(shorter)
  return tellAll(stream.nextBest, function(one)
    return not isFound(one)
  end, function(form)
    return fitsTurned(form, { shorter })
  end, after)
end

local rest, edited = nil, 0
if not isOfLast then
  rest = tellEdited()
  edited = #told
end
local isRestOfLast = not rest and edited < limit and not tokens[2]
if isRestOfLast then
  rest = tellEditedLast()
end
return replyWith(edited, rest and #told < limit and { isRestOfLast and '1' or '0', rest.text, rest.member } or {})
