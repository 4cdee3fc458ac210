-- The top sets. One holds the best members of its prefix without a gap: whatever ranks before its last member is in it. So
-- the last member is the floor: what comes above it goes in, what falls below it goes out, and nothing else is known.
-- Expects: book.ranked.part.lua and book.forms.part.lua before it.

-- Fewer are made up again; more are cut to the middle.
local LEAST_TOP, MIDDLE_TOP, MOST_TOP = 12, 20, 28

local function append(key, list)
  local args = {}
  for i, one in ipairs(list) do
    args[2 * i - 1], args[2 * i] = one.rank, one.member
  end
  redis.call('ZADD', key, unpack(args))
end

-- The top set of the whole book has entries: each by the first of its members that are not for two words. They have as many
-- forms as their names have words, and ten of them would not fit into a set of members.
local function buildWhole()
  -- An entry has 128 members at most, so there are some entries among as many.
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

-- From what it consists of. Its heavy parts have their top sets. There is nothing if the block within it has lost its last
-- member, and is about to go.
local function build(prefix)
  local found = prefix == '' and buildWhole() or expand(prefix, MIDDLE_TOP)
  if #found > 0 then
    append(tops .. prefix, found)
  end
end

-- Tells a top set of a member where it ranks now; without a rank it is gone. One that is new may be the first of its rank in a set
-- that had too few. One that ranks no worse than `before` needn't be looked for in a set that ends in front of it. Returns whether
-- there is such a set, and whether it has too few now.
local function settleIn(prefix, member, rank, isNew, before)
  local top = tops .. prefix
  local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')
  if not last[1] then
    return false, false
  end
  local floor = tonumber(last[2])
  if rank and not (floor < rank or floor == rank and isBefore(last[1], member)) then
    if redis.call('ZADD', top, rank, member) == 1 and redis.call('ZCARD', top) > MOST_TOP then
      redis.call('ZREMRANGEBYRANK', top, MIDDLE_TOP, -1)
    end
    return true, false
  elseif before and rank <= before then
    return true, false
  end
  return true, (isNew or redis.call('ZREM', top, member) == 1) and redis.call('ZCARD', top) < LEAST_TOP
end

-- Tells its top sets of a member, but for that of the whole book.
local function settle(member, rank, isNew, before)
  local thin = {}
  for cut = 1, #member do
    local prefix = sub(member, 1, cut)
    local isHeavy, isThin = settleIn(prefix, member, rank, isNew, before)
    if not isHeavy then
      break
    end
    thin[#thin + 1] = isThin and prefix or nil
  end
  -- The longest first: the others are made from them.
  for i = #thin, 1, -1 do
    build(thin[i])
  end
end

-- Tells the top set of the whole book of the first member of an entry. Such a set is made from all others, so it comes last.
local function settleWhole(member, rank, isNew, before)
  local _, isThin = settleIn('', member, rank, isNew, before)
  if isThin then
    build('')
  end
end
