-- Members in the order of rank, behind one if it is given: those of lists, and those of prefixes, each part of which is read when its turn
-- comes. Of a heavy prefix that is its top set, and behind the last one there what it consists of. So who stops early has paid for
-- little. Of what stands in front of the page the server hands over nothing.
-- Expects: book.places.part.lua and book.heap.part.lua before it.

-- Of a top set so many are read first. What begins with `without` is left out, if it is given, and not read where it is a part of its own.
-- Returns functions: `addList` for members in the order of rank, `addPrefix`, and `nextBest`, which gives each member once and nothing
-- behind the last one.
local function newStream(most, after, without)
  local heap, last = { size = 0 }, after

  local function isWanted(member, prefix)
    return sub(member, 1, #prefix) == prefix and not (without and sub(member, 1, #without) == without)
  end

  -- Puts a list where its next member belongs, if it has one. A flat one is of members and ranks, and may have some that came before.
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

  -- Those of the rank of the last one are among them.
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
      -- It is light, or its top set does not reach as far.
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
        -- A block may belong to two parts, and a member to two lists: they come one behind the other.
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
