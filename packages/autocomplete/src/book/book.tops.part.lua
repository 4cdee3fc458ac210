-- The top sets. One holds the best members of its prefix without a gap: whatever ranks before its last member is in it. So
-- the last member is the floor: what comes above it goes in, what falls below it goes out, and nothing else is known.
-- Expects: book.ranked.part.lua before it.

-- Fewer are made up again; more are cut to the middle.
local LEAST_TOP, MIDDLE_TOP, MOST_TOP = 12, 20, 28

local function append(key, list)
  local args = {}
  for i, one in ipairs(list) do
    args[2 * i - 1], args[2 * i] = one.rank, one.member
  end
  redis.call('ZADD', key, unpack(args))
end

-- From what it consists of. Its heavy parts have their top sets. There is nothing if the block within it has lost its last
-- member, and is about to go.
local function build(prefix)
  local found = expand(prefix, MIDDLE_TOP)
  if #found > 0 then
    append(tops .. prefix, found)
  end
end

-- Tells the top sets of a member where it ranks now; without a rank it is gone. One that is new may be the first of its rank in
-- a set that had too few.
local function settle(member, rank, isNew)
  local thin, cut = {}, 0
  local one = { member = member, rank = rank }
  while true do
    local prefix = sub(member, 1, cut)
    local top = tops .. prefix
    local last = redis.call('ZRANGE', top, -1, -1, 'WITHSCORES')
    if #last == 0 then
      break
    end
    local isIn = rank and not precedes({ member = last[1], rank = tonumber(last[2]) }, one)
    if isIn then
      if redis.call('ZADD', top, rank, member) == 1 and redis.call('ZCARD', top) > MOST_TOP then
        redis.call('ZREMRANGEBYRANK', top, MIDDLE_TOP, -1)
      end
    elseif (isNew or redis.call('ZREM', top, member) == 1) and redis.call('ZCARD', top) < LEAST_TOP then
      thin[#thin + 1] = prefix
    end
    if cut == #member then
      break
    end
    cut = cut + 1
  end
  -- The longest first: the others are made from them.
  for i = #thin, 1, -1 do
    build(thin[i])
  end
end
