#!lua flags=no-writes
-- Finds the best entries whose words begin with the tokens only after one edit in one of them. An edit inserts, removes or replaces a
-- code point, or swaps two. A single token may also lack the space between two words.
--
-- Removing or replacing the last code point finds every name with the token without it: many names, few of them intended.
-- So these matches come last, and only for a single token.
--
-- KEYS
--   directory    see book.apply.lua
--   cards        see book.apply.lua
--   firstBlock   see book.apply.lua
--   tops         see book.apply.lua
--   marks        see book.apply.lua
--   absent       never exists: while the slot moves, a node that lacks one of the keys refuses the call
-- ARGV
--   halfLifeMs   as for book.apply.lua
--   limit        maximum of entries
--   afterRank    the rank at which the previous page or an earlier call stopped, or empty
--   afterMember  its member
--   isOfLast     1 if it matched after an edit of the last code point, else 0
--   tokens...    at least one of three code points or more
-- RETURNS
--   an array of the matching member and the rank of each entry, the best first; an array with the card or an empty string for each, or
--   empty if none has a card; the server's time in half-lives, or 0; the number of entries that match after other edits than of the
--   last code point, which come first; and where to continue, because the work of one call is bounded: empty if the search or the
--   answer is complete, or isOfLast, afterRank and afterMember
local directory, cards, firstBlock, tops, marks, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local afterRank, afterMember, isOfLast = ARGV[3], ARGV[4], ARGV[5] == '1'
local tokens = { unpack(ARGV, 6) }
local find = string.find

-- include book.places.part.lua
-- include book.heap.part.lua
-- include book.score.part.lua
-- include book.forms.part.lua
-- include book.reply.part.lua
-- include book.scan.part.lua
-- include book.marks.part.lua

-- A stream of members in the order of ranks, after a member if one is given. Its sources are lists and prefixes. It reads the parts of a
-- prefix only when their members are next: the top set of a heavy prefix first, its parts after the last member there. So a stream that
-- ends early costs little. The server sends no members of earlier pages.
--
-- The first read of a top set is of `most` members. Members that begin with `without`, if given, are omitted, and a part of
-- only such members is not read. Returns the functions `addList` for members in the order of ranks, `addPrefix`, and
-- `nextBest`, which returns each member once, and nil at the end.
local function newStream(most, after, without)
  local heap, last = { size = 0 }, after

  local function isWanted(member, prefix)
    return sub(member, 1, #prefix) == prefix and not (without and sub(member, 1, #without) == without)
  end

  -- Pushes a list at its next member, if it has one. A flat list of members and ranks may have members that the stream has passed.
  local function pushList(list)
    local at = list.at
    if not list.flat then
      local one = list.ones[at]
      if one then
        list.member, list.rank = one.member, one.rank
        push(heap, list)
      end
      return
    end
    local flat, prefix = list.flat, list.prefix
    while flat[at] do
      if isWanted(flat[at], prefix) then
        list.member, list.rank, list.at = flat[at], tonumber(flat[at + 1]), at
        if not last or precedes(last, list) then
          push(heap, list)
          return
        end
      end
      at = at + 2
    end
  end

  -- The result includes all members with the rank of the last one.
  local function read(key, to)
    if last then
      return redis.call('ZRANGE', key, last.text, '+inf', 'BYSCORE', 'WITHSCORES')
    end
    return redis.call('ZRANGE', key, '0', to, 'WITHSCORES')
  end

  local addPrefix

  local function addParts(prefix)
    local places, children = partsOf(prefix)
    for _, key in ipairs(places) do
      pushList({ flat = read(key, '-1'), at = 1, prefix = prefix, member = '', rank = 0 })
    end
    for _, child in ipairs(children) do
      if not (without and sub(child, 1, #without) == without) then
        addPrefix(child)
      end
    end
  end

  function addPrefix(prefix)
    local flat = read(tops .. prefix, most - 1)
    local floor = #flat
    if floor == 0 then
      -- The prefix is light, or its top set ends before the position.
      addParts(prefix)
      return
    end
    pushList({ flat = flat, at = 1, prefix = prefix, member = '', rank = 0 })
    push(heap, { member = flat[floor - 1], rank = tonumber(flat[floor]), parts = prefix })
  end

  local function nextBest()
    while heap.size > 0 do
      local list = pop(heap)
      if list.parts then
        addParts(list.parts)
      else
        local at, flat, one = list.at, list.flat, nil
        if flat then
          one, list.at = { member = flat[at], rank = list.rank, text = flat[at + 1] }, at + 2
        else
          one, list.at = list.ones[at], at + 1
        end
        pushList(list)
        -- A block may belong to two parts, and a member to two lists: then it comes twice in a row.
        if not last or precedes(last, one) then
          last = one
          return one
        end
      end
    end
  end

  return {
    addList = function(ones)
      if ones[1] then
        pushList({ ones = ones, at = 1, member = '', rank = 0 })
      end
    end,
    addPrefix = addPrefix,
    nextBest = nextBest,
  }
end

-- include book.edits.section.lua

local cursor = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank), text = afterRank } or nil

-- For each token that may be edited: this token, followed by the others.
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

-- Whether an entry matches exactly.
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

-- Many members that match after an edit also match exactly. After this many members another call continues the search.
local MOST_CHECKED = 500
local FIRST_ASKED, checked = limit + 6, 0

-- Adds the wanted candidates to the reply. Returns the last checked one, if there may be more after it.
local function addAll(nextBest, isWanted, fits, after)
  while true do
    local list = {}
    for i = 1, math.min(limit - #replyCards, MOST_CHECKED - checked) do
      list[i] = nextBest()
      if not list[i] then
        break
      end
    end
    readCards(list)
    for _, one in ipairs(list) do
      if isWanted(one) then
        addToReply(one, fits, after)
      end
    end
    checked = checked + #list
    if not list[1] or #replyCards == limit or checked >= MOST_CHECKED then
      return list[#list]
    end
  end
end

local function addEdited()
  return addAll(candidates(orders, FIRST_ASKED, cursor), function(one)
    return fit(formIn(one.member)) and not isExact(one)
  end, fit, cursor)
end

-- Members that begin with the token match exactly and are omitted.
local function addEditedLast()
  local points = pointsOf(tokens[1])
  local shorter = table.concat(points, '', 1, #points - 1)
  local after = isOfLast and cursor or nil
  local stream = newStream(FIRST_ASKED, after, tokens[1])
  stream.addPrefix(shorter)
  return addAll(stream.nextBest, function(one)
    return not isFound(one)
  end, function(form)
    return fitsTurned(form, { shorter })
  end, after)
end

local rest, edited = nil, 0
if not isOfLast then
  rest = addEdited()
  edited = #replyCards
end
local isRestOfLast = not rest and edited < limit and not tokens[2]
if isRestOfLast then
  rest = addEditedLast()
end
return replyWith(edited, rest and #replyCards < limit and { isRestOfLast and '1' or '0', rest.text, rest.member } or {})
