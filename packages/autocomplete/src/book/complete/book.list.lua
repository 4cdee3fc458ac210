#!lua flags=no-writes
-- Lists the entries whose words begin with the tokens, a different word for each token, in the byte order of their forms.
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
--   place        the first form to list, or empty
--   prefix       the first token; an empty one as the only token matches all entries
--   others...    the other tokens
-- RETURNS
--   an array of the matching member and the rank of each entry; an array with the card or an empty string for each, or empty if none
--   has a card; the server's time in half-lives, or 0; and where to continue, because the work of one call is bounded: empty at the
--   end, or the place
local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local place, prefix = ARGV[3], ARGV[4]
local others = ARGV
local find = string.find

-- include book.places.part.lua
-- include book.score.part.lua
-- include book.forms.part.lua
-- include book.reply.part.lua
-- include book.scan.part.lua

local tokens = { unpack(others, 4) }
local function fit(form)
  return fitsTurned(form, tokens)
end

local found = {}
local from = isBefore(prefix, place) and place or prefix
local pattern = literal(prefix) .. '*' .. (tokens[2] and ' ' .. literal(tokens[2]) .. '*' or '')
local rest = scan(prefix, pattern, from, function(list)
  readCards(list)
  for _, one in ipairs(list) do
    if not isBefore(one.member, place) and fit(formIn(one.member)) and isFirst(one, fit) then
      found[#found + 1] = one
    end
  end
  return #found >= limit
end)
table.sort(found, function(a, b)
  return isBefore(a.member, b.member)
end)
for i = 1, math.min(limit, #found) do
  addToReply(found[i], fit)
end
return replyWith(#replyCards < limit and rest and { rest } or {})
