-- Members that begin with what one edit makes of a token. The order of bytes is walked as a tree: behind each beginning of the
-- token, what follows differs in one code point, so it is looked for behind each code point that follows there.
-- Expects: book.scan.part.lua and book.ranked.part.lua before it.

-- Shorter tokens are not edited: they would find too much.
local LEAST_POINTS = 3
-- Blocks and top sets. Where a book has thousands of different letters, what is looked for last isn't found: an error in the first letter.
local MOST_EDITS = 600

local function pointsOf(token)
  local points, at = {}, 1
  while at <= #token do
    local to = endOf(token, at)
    points[#points + 1] = sub(token, at, to)
    at = to + 1
  end
  return points
end

-- Whether a text begins with what one edit makes of a token, and not with the token. The edit is where they differ first.
local function isEdited(text, token)
  local at = 1
  while at <= #token and byte(text, at) == byte(token, at) do
    at = at + 1
  end
  if at > #token then
    return false
  end
  -- The code point may have begun before.
  while byte(token, at) >= 0x80 and byte(token, at) < 0xC0 do
    at = at - 1
  end
  local rest, textRest = sub(token, at), sub(text, at)
  if textRest == '' then
    return false
  end
  local behind, textBehind = sub(rest, endOf(rest, 1) + 1), sub(textRest, endOf(textRest, 1) + 1)
  if begins(textBehind, rest) then
    return true
  elseif behind == '' then
    return false
  elseif begins(textBehind, behind) or begins(textRest, behind) then
    return true
  end
  local swapped = endOf(behind, 1)
  return begins(textRest, sub(behind, 1, swapped) .. sub(rest, 1, #rest - #behind) .. sub(behind, swapped + 1))
end

-- As `fitsTurned`, where the first token of an order needs an edit; alone, it may go on into the second word.
local function fitsEdited(form, order)
  if byte(form, 1) == 3 or not order[2] then
    return byte(form, 1) ~= 3 and isEdited(form, order[1])
  end
  local words = wordsIn(form)
  return isEdited(words[1], order[1]) and assign(words, 2, order, 2)
end

-- Candidates of all orders, the best first, and the last one up to which they are all there are, if more were left out: of each
-- prefix at most so many were asked for.
local function candidates(orders, most, cursor)
  local found, seen, floor = {}, {}, nil

  local function visit(list)
    for _, one in ipairs(list) do
      if not seen[one.member] and (not cursor or precedes(cursor, one)) then
        seen[one.member] = true
        found[#found + 1] = one
      end
    end
  end

  local function walk(order)
    local token, second = order[1], order[2]
    local points, checked = pointsOf(token), {}
    local behind = second and ' ' .. literal(second) .. '*' or ''
    local shorter = table.concat(points, '', 1, #points - 1)

    -- All of a prefix that an edit gives.
    local function check(edited)
      if edited == shorter or checked[edited] or begins(edited, token) or looked >= MOST_EDITS then
        return
      end
      checked[edited] = true
      if second then
        scan(edited, literal(edited) .. '*' .. behind, edited, visit)
      else
        local list = ranked(edited, most, cursor)
        looked = looked + 1
        visit(list)
        local last = list[most]
        floor = last and (not floor or precedes(last, floor)) and last or floor
      end
    end

    local function lookInto(places, pattern)
      for _, key in ipairs(places) do
        if looked < MOST_EDITS then
          looked = looked + 1
          visit(matching(key, pattern))
        end
      end
    end

    -- Behind a light prefix, a look at its blocks tells all.
    local deepest, prefix = 1, ''
    while deepest <= #points and redis.call('EXISTS', tops .. prefix) == 1 do
      prefix, deepest = prefix .. points[deepest], deepest + 1
    end
    if deepest <= #points then
      lookInto(partsOf(prefix), literal(prefix) .. '*' .. behind)
    end
    for at = deepest - 1, 1, -1 do
      prefix = table.concat(points, '', 1, at - 1)
      local tail = table.concat(points, '', at + 1)
      local isLast = at == #points
      if not isLast then
        check(prefix .. tail)
        check(prefix .. points[at + 1] .. points[at] .. table.concat(points, '', at + 2))
      end
      local places, children = partsOf(prefix)
      lookInto(places, literal(prefix) .. '*' .. literal(isLast and points[at] or tail) .. '*' .. behind)
      for _, child in ipairs(children) do
        if not isLast then
          check(child .. tail)
        end
        check(child .. points[at] .. tail)
      end
    end
  end

  mostLooked = MOST_EDITS
  for _, order in ipairs(orders) do
    walk(order)
  end
  table.sort(found, precedes)
  return found, floor
end
