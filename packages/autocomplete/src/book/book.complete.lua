#!lua flags=no-writes
-- Finds the best entries that have a form with a prefix.
--
-- KEYS
--   directory    see book.apply.lua
--   cards        see book.apply.lua
--   firstBlock   see book.apply.lua
--   tops         see book.apply.lua
-- ARGV
--   halfLifeMs   as for book.apply.lua
--   prefix       a prefix of forms; empty: all have it
--   limit        the most entries
--   afterRank    the rank of the last one of the page before, or nothing
--   afterMember  its member
-- RETURNS
--   an array with the member by which each entry was found, and its rank behind it, the best first; then an array with the card of
--   each or an empty string, and how many half-lives the server's clock counts, 0 without. The first array alone if no entry has
--   a card and there is no half-life
local directory, cards, firstBlock, tops = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local halfLifeMs, prefix, limit = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local afterRank, afterMember = ARGV[4], ARGV[5]

-- Most calls end here: a heavy prefix of a book of handles. So nothing is prepared before.
local find = string.find
local top = redis.call('ZRANGE', tops .. prefix, 0, limit - 1, 'WITHSCORES')
if #top == 2 * limit and afterRank == '' and halfLifeMs == 0 then
  if not find(table.concat(top), '\1', 1, true) then
    return { top }
  end
end

-- include book.places.part.lua
-- include book.ranked.part.lua
-- include book.score.part.lua

-- An entry that is found by several of its forms is told once, by the first of them in the order of bytes.
local function isFirst(member, separator, card)
  local form, id = sub(member, 1, separator - 1), sub(member, separator)
  local function isAhead(other)
    return sub(other, 1, #prefix) == prefix and isBefore(other .. id, member)
  end
  if card then
    for other in string.gmatch(sub(card, 1, find(card, '\0', 1, true) - 1), '[^\1]+') do
      if isAhead(other) then
        return false
      end
    end
    return true
  end
  local space = find(form, ' ', 1, true)
  while space do
    if isAhead(sub(form, space + 1) .. ' ' .. sub(form, 1, space - 1)) then
      return false
    end
    space = find(form, ' ', space + 1, true)
  end
  return true
end

local replies, told, hasCards = {}, {}, false
local after = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank) } or nil
repeat
  local wanted = limit - #told
  local found, ids = ranked(prefix, wanted, after), {}
  for _, one in ipairs(found) do
    one.separator = find(one.member, '\1', 1, true)
    if one.separator then
      ids[#ids + 1] = sub(one.member, one.separator + 1)
      one.at = #ids
    end
  end
  local known = #ids > 0 and redis.call('HMGET', cards, unpack(ids))
  for _, one in ipairs(found) do
    local card = one.separator and known[one.at]
    if not one.separator or isFirst(one.member, one.separator, card) then
      told[#told + 1], hasCards = card or '', hasCards or card
      replies[#replies + 1] = one.member
      replies[#replies + 1] = one.text
    end
  end
  after = found[#found]
until #told == limit or #found < wanted
if hasCards or halfLifeMs > 0 then
  return { replies, told, string.format('%.17g', halfLives) }
end
return { replies }
