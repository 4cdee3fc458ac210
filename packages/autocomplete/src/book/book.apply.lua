#!lua
-- Puts entries into a book, takes them out, or changes their scores, one after the other.
--
-- An entry is one member for each form by which it is found; all of them have its rank, which is the negated score. What is not
-- said by its members stands on its card. An entry without a card has the members that follow from its key.
--
-- KEYS
--   directory    ZSET with score 0 of <start> NUL <number of block>, of a book of several blocks; until there is only one
--   meta         HASH: size (entries), blocks (the highest number), markedUntil (the number from which on new marks are begun), markedTo (up to
--                where they are made); until the book is empty
--   cards        HASH encoded key -> forms, each behind \1 but for the first, NUL, what Lua does not read; until the last card goes
--   firstBlock   ZSET member -> rank; blocks with other numbers have other ends of this name; until it is empty
--   tops         the beginning of the names of the top sets: ZSET member -> rank, behind it the prefix; until the prefix is light
--   requests     the beginning of the names of the boosts with an id: STRING <amount> NUL <encoded key> NUL <new score>; for an hour
--   marks        STRING, bits for what members begin with, of a book of 64 blocks and more, until one is left; behind :new, those being made
--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none
-- ARGV
--   halfLifeMs   scores halve in so long, ms; 0: they are as they were set
--   changes...   for each: add, remove or boost; the encoded key; the score, or by how much, or nothing to keep it; the card, or
--                the encoded id of a boost, or nothing; how many members follow from the key, and these; with add: how many members it has, and these
-- RETURNS
--   for each: add and remove, 1 if the entry was there, else 0; boost, the new score as a string, or an empty one if it is not there,
--   or ! if another boost has had its id
local directory, meta, cards, firstBlock, tops = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local requests, marks, absent = KEYS[6], KEYS[7], KEYS[8]
local halfLifeMs = tonumber(ARGV[1])
local changes = ARGV
local find = string.find
local REMEMBERED_MS = '3600000'

-- include book.places.part.lua
-- include book.ranked.part.lua
-- include book.forms.part.lua
-- include book.tops.part.lua
-- include book.marks.part.lua
-- include book.marking.part.lua
-- include book.blocks.part.lua
-- include book.score.part.lua

local function put(member, rank)
  local key, entry = placeOf(member)
  local isNew = redis.call('ZADD', key, rank, member) == 1
  if isNew and entry then
    mark(marks, { member })
    mark(newMarks, { member })
  end
  if isNew and redis.call('ZCARD', key) > MOST_BLOCK then
    split(key, entry)
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

-- The member by which the book as a whole has an entry.
local function firstOf(members)
  local first
  for _, member in ipairs(members) do
    first = isTurned(member) and not (first and isBefore(first, member)) and member or first
  end
  return first
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
  local place = members[1] and placeOf(members[1])
  local rank = place and redis.call('ZSCORE', place, members[1])
  local reply = rank and 1 or 0
  local request = what == 'boost' and card ~= '' and requests .. card
  local isMade = request and redis.call('GET', request)
  local asked = amount .. '\0' .. id .. '\0'
  if isMade then
    reply = sub(isMade, 1, #asked) == asked and sub(isMade, #asked + 1) or '!'
  elseif what == 'add' then
    local wanted, keep = readMembers(), {}
    local now = amount ~= '' and rankOf(tonumber(amount)) or rank or rankOf(0)
    for _, member in ipairs(wanted) do
      keep[member] = true
    end
    -- Before its members, of which the first comes first: a top set of the whole book may be made meanwhile, and looks at both.
    if card ~= '' then
      redis.call('HSET', cards, id, card)
    elseif old then
      redis.call('HDEL', cards, id)
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
    local first = firstOf(wanted)
    put(first, now)
    for _, member in ipairs(wanted) do
      if member ~= first then
        put(member, now)
      end
    end
    local before = rank and firstOf(members)
    if before and before ~= first then
      settleWhole(before)
    end
    settleWhole(first, tonumber(now), not rank)
  elseif not rank then
    reply = what == 'boost' and '' or 0
  elseif what == 'remove' then
    for _, member in ipairs(members) do
      drop(member)
    end
    if old then
      redis.call('HDEL', cards, id)
    end
    settleWhole(firstOf(members))
    if redis.call('HINCRBY', meta, 'size', -1) == 0 then
      redis.call('DEL', meta)
    end
  else
    local before = tonumber(rank)
    local boosted = boost(before, tonumber(amount))
    local now = tonumber(boosted)
    for i, member in ipairs(members) do
      redis.call('ZADD', i == 1 and place or placeOf(member), boosted, member)
      settle(member, now, false, before)
    end
    settleWhole(firstOf(members), now, false, before)
    reply = string.format('%.17g', scoreOf(now))
    if request then
      redis.call('SET', request, asked .. reply, 'PX', REMEMBERED_MS)
    end
  end
  replies[#replies + 1] = reply
end
return replies
