-- Top sets. A top set has the best members of its prefix without a gap: every member that ranks before its last one is in it. So the
-- last member is the floor. A member that rises above it is added, and a member that falls below it is removed.
-- Expects: book.ranked.part.lua and book.forms.part.lua before it.

-- A smaller set is built again; a larger one is cut to the middle size.
local LEAST_TOP, MIDDLE_TOP, MOST_TOP = 12, 20, 28

-- The last members of top sets, once they are read, and false for sets that don't exist. A call adds many members, most of which come after
-- the last ones.
local floors = {}

local function floorOf(prefix)
  local floor = floors[prefix]
  if floor == nil then
    local last = redis.call('ZRANGE', tops .. prefix, '-1', '-1', 'WITHSCORES')
    floor = last[1] and { member = last[1], rank = tonumber(last[2]) } or false
    floors[prefix] = floor
  end
  return floor
end

local function dropTop(prefix)
  redis.call('DEL', tops .. prefix)
  floors[prefix] = false
end

local function append(key, list)
  local args = {}
  for i, one in ipairs(list) do
    args[2 * i - 1], args[2 * i] = one.rank, one.member
  end
  redis.call('ZADD', key, unpack(args))
end

-- The top set of the whole book has one member for each entry: the first of its turned forms. An entry has as many turned forms as its
-- names have words, so a set of all members would have room for few entries.
local function buildWhole()
  -- An entry has up to 128 members, so this many members contain enough entries.
  local MOST_ASKED = 1000
  local found, after, asked, wanted, isAll = {}, nil, 0, 2 * MIDDLE_TOP, false
  repeat
    local list = expand('', wanted, after)
    readCards(list)
    for _, one in ipairs(list) do
      found[#found + 1] = #found < MIDDLE_TOP and isTurned(one.member) and isFirst(one, isTurned) and one or nil
    end
    after, isAll, asked, wanted = list[#list], #list < wanted, asked + wanted, 2 * wanted
  until #found == MIDDLE_TOP or isAll or asked >= MOST_ASKED
  return found
end

-- Builds a top set from the parts of its prefix. Heavy parts have top sets. It is empty if its block has lost its last
-- member and will be removed next.
local function build(prefix)
  local found = prefix == '' and buildWhole() or expand(prefix, MIDDLE_TOP)
  if #found > 0 then
    append(tops .. prefix, found)
  end
  floors[prefix] = nil
end

-- Updates a top set for a member with a new rank, or without one for a removed member. A set that was built in between may
-- already have a new member. A member whose rank improved from `before` is not in a set that ends before it. Returns
-- whether there is such a set, and whether it has too few members now.
local function updateTop(prefix, member, rank, isNew, before)
  local top, floor = tops .. prefix, floorOf(prefix)
  if not floor then
    return false, false
  end
  if rank and not (floor.rank < rank or floor.rank == rank and isBefore(floor.member, member)) then
    floors[prefix] = nil
    if redis.call('ZADD', top, rank, member) == 1 and redis.call('ZCARD', top) > MOST_TOP then
      redis.call('ZREMRANGEBYRANK', top, MIDDLE_TOP, -1)
    end
    return true, false
  elseif before and rank <= before then
    return true, false
  end
  if not isNew then
    if redis.call('ZREM', top, member) == 0 then
      return true, false
    end
    floors[prefix], floor.isThin = nil, nil
  end
  if floor.isThin == nil then
    floor.isThin = redis.call('ZCARD', top) < LEAST_TOP
  end
  return true, floor.isThin
end

-- Updates the top sets of all prefixes of a member.
local function updateTops(member, rank, isNew, before)
  local thin = {}
  for cut = 1, #member do
    local prefix = sub(member, 1, cut)
    local floor = floors[prefix]
    -- The common case in a load: the set is known, and ends before the new member.
    local isPassed = floor
      and isNew
      and floor.isThin == false
      and (floor.rank < rank or floor.rank == rank and isBefore(floor.member, member, cut + 1))
    if not isPassed then
      local isHeavy, isThin = updateTop(prefix, member, rank, isNew, before)
      if not isHeavy then
        break
      end
      thin[#thin + 1] = isThin and prefix or nil
    end
  end
  -- The longest prefix first: the other sets are built from it.
  for i = #thin, 1, -1 do
    build(thin[i])
  end
end

-- Updates the top set of the whole book for the first member of an entry. It is built from all other sets, so it comes last.
local function updateWholeTop(member, rank, isNew, before)
  local _, isThin = updateTop('', member, rank, isNew, before)
  if isThin then
    build('')
  end
end
