#!lua flags=no-writes
-- Reads one entry.
--
-- KEYS
--   directory    see book.apply.lua
--   cards        see book.apply.lua
--   firstBlock   see book.apply.lua
--   tops         see book.apply.lua
--   absent       never exists: while the slot moves, a node that lacks one of the keys refuses the call
-- ARGV
--   halfLifeMs   as for book.apply.lua
--   id           the encoded key
--   members...   the members that the key determines
-- RETURNS
--   its card or an empty string, its rank, and the server's time in half-lives; nil if there is no such entry
local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local halfLifeMs, id = tonumber(ARGV[1]), ARGV[2]
local members = { unpack(ARGV, 3) }
local find = string.find

-- include book.places.part.lua
-- include book.score.part.lua

local card = redis.call('HGET', cards, id)
local member = members[1]
if card then
  member = string.match(card, '^[^%z\1]+') .. '\1' .. id
end
local rank = member and redis.call('ZSCORE', (placeOf(member)), member)
return rank and { card or '', rank, string.format('%.17g', halfLives) }
