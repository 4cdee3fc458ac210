#!lua
-- Puts entries into a book, takes them out, or changes their scores, one after the other.
--
-- An entry is one member for each form by which it is found; all of them have its rank, which is the negated score. What is not
-- said by its members stands on its card. An entry without a card has the members that follow from its key.
--
-- KEYS
--   directory    ZSET with score 0 of <start> NUL <number of block>, of a book of several blocks; until there is only one
--   meta         HASH: size (entries), blocks (the highest number); until the book is empty
--   cards        HASH encoded key -> forms, each behind \1 but for the first, NUL, what Lua does not read; until the last card goes
--   firstBlock   ZSET member -> rank; blocks with other numbers have other ends of this name; until it is empty
--   tops         the beginning of the names of the top sets: ZSET member -> rank, behind it the prefix; until the prefix is light
--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none
-- ARGV
--   halfLifeMs   scores halve in so long, ms; 0: they are as they were set
--   changes...   for each: add, remove or boost; the encoded key; the score, or by how much, or nothing to keep it; the card, or
--                nothing; how many members follow from the key, and these; with add: how many members it has, and these
-- RETURNS
--   for each: add and remove, 1 if the entry was there, else 0; boost, the new score as a string, or an empty one if it is not there
local directory, meta, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local halfLifeMs = tonumber(ARGV[1])
local changes = ARGV
local find = string.find

-- include book.places.part.lua
-- include book.ranked.part.lua
-- include book.tops.part.lua
-- include book.blocks.part.lua
-- include book.score.part.lua

local function put(member, rank)
  local key = placeOf(member)
  local isNew = redis.call('ZADD', key, rank, member) == 1
  if isNew and redis.call('ZCARD', key) > MOST_BLOCK then
    split(key)
  end
  settle(member, tonumber(rank), isNew)
end

local function drop(member)
  local key, entry = placeOf(member)
  redis.call('ZREM', key, member)
  settle(member)
  shrink(key, entry)
end

local replies, at = {}, 2
local function readMembers()
  local count, members = tonumber(changes[at]), {}
  for i = 1, count do
    members[i] = changes[at + i]
  end
  at = at + count + 1
  return members
end

while changes[at] do
  local what, id, amount, card = changes[at], changes[at + 1], changes[at + 2], changes[at + 3]
  at = at + 4
  local members = readMembers()
  local old = redis.call('HGET', cards, id)
  if old then
    members = {}
    for form in string.gmatch(sub(old, 1, find(old, '\0', 1, true) - 1), '[^\1]+') do
      members[#members + 1] = form .. '\1' .. id
    end
  end
  -- A key without a word has no members, and its entry has a card.
  local rank = members[1] and redis.call('ZSCORE', (placeOf(members[1])), members[1])
  local reply = rank and 1 or 0
  if what == 'add' then
    local wanted, keep = readMembers(), {}
    local now = amount ~= '' and rankOf(tonumber(amount)) or rank or rankOf(0)
    for _, member in ipairs(wanted) do
      keep[member] = true
    end
    if rank then
      for _, member in ipairs(members) do
        if not keep[member] then
          drop(member)
        end
      end
    else
      redis.call('HINCRBY', meta, 'size', 1)
    end
    for _, member in ipairs(wanted) do
      put(member, now)
    end
    if card ~= '' then
      redis.call('HSET', cards, id, card)
    elseif old then
      redis.call('HDEL', cards, id)
    end
  elseif not rank then
    reply = what == 'boost' and '' or 0
  elseif what == 'remove' then
    for _, member in ipairs(members) do
      drop(member)
    end
    if old then
      redis.call('HDEL', cards, id)
    end
    if redis.call('HINCRBY', meta, 'size', -1) == 0 then
      redis.call('DEL', meta)
    end
  else
    local boosted = boost(tonumber(rank), tonumber(amount))
    for _, member in ipairs(members) do
      put(member, boosted)
    end
    reply = string.format('%.17g', scoreOf(tonumber(boosted)))
  end
  replies[#replies + 1] = reply
end
return replies
