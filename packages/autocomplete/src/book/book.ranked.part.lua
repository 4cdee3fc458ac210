-- The best members that have a prefix, exactly.
-- Expects: book.places.part.lua before it.

-- Adds the best members of a sorted set that have the prefix and come after a member, up to a number. `seen` may be nil.
local function take(key, prefix, most, after, into, seen)
  local left = most
  for _, one in ipairs(matching(key, literal(prefix) .. '*')) do
    if left == 0 then
      break
    end
    if not (seen and seen[one.member]) and (not after or precedes(after, one)) then
      into[#into + 1], left = one, left - 1
      if seen then
        seen[one.member] = true
      end
    end
  end
end

-- The best members of a top set, up to a number. Empty if there is no such set.
local function bestOf(top, most)
  local list, found = redis.call('ZRANGE', top, '0', most - 1, 'WITHSCORES'), {}
  for i = 1, #list, 2 do
    found[#found + 1] = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }
  end
  return found
end

local ranked

-- The best of two lists that are in the order of rank.
local function merge(a, b, most)
  local found, i, j = {}, 1, 1
  while #found < most and (a[i] or b[j]) do
    if not b[j] or a[i] and precedes(a[i], b[j]) then
      found[#found + 1], i = a[i], i + 1
    else
      found[#found + 1], j = b[j], j + 1
    end
  end
  return found
end

-- The result of `ranked` for a prefix whose top set is too small or missing.
local function expand(prefix, most, after)
  local places, children = partsOf(prefix)
  if #children == 0 and #places < 3 then
    local found, others = {}, {}
    take(places[1], prefix, most, after, found)
    if places[2] then
      take(places[2], prefix, most, after, others)
    end
    return #others > 0 and merge(found, others, most) or found
  end
  local found, seen, lasts = {}, {}, {}
  if children[#children] == '\3' then
    -- With an empty prefix every entry has members other than forms of two words.
    children[#children] = nil
  end
  for _, key in ipairs(places) do
    take(key, prefix, most, after, found, seen)
  end
  for i, child in ipairs(children) do
    local top = tops .. child
    if after then
      take(top, child, most, after, found, seen)
      local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')
      lasts[i] = last[1] and { member = last[1], rank = tonumber(last[2]) }
    else
      -- Most parts have few of the best members.
      for _, one in ipairs(bestOf(top, math.ceil(most / 4))) do
        found[#found + 1] = not seen[one.member] and one or nil
        seen[one.member], lasts[i] = true, one
      end
    end
  end
  table.sort(found, precedes)
  local worst = found[most]
  for i, child in ipairs(children) do
    -- The part may have more of the best members than its top set. Without its last member it has no set, and its block
    -- will be removed.
    if lasts[i] and (not worst or precedes(lasts[i], worst)) then
      for _, one in ipairs(ranked(child, most, after)) do
        if not seen[one.member] then
          seen[one.member] = true
          found[#found + 1] = one
        end
      end
    end
  end
  table.sort(found, precedes)
  for i = #found, most + 1, -1 do
    found[i] = nil
  end
  return found
end

-- The best members with a prefix, in the order of ranks, after a member if one is given. Without a prefix, an entry has only its first
-- turned form.
function ranked(prefix, most, after)
  local found, top = {}, tops .. prefix
  if after then
    take(top, prefix, most, after, found)
  else
    found = bestOf(top, most)
  end
  return #found == most and found or expand(prefix, most, after)
end
