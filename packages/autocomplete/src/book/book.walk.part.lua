-- The best members that fit the tokens. The tree of top sets is walked, and always that part looked into which may hold what
-- comes next. Where all that begins with the letters of the tokens fits, the first look tells all.
-- Expects: book.heap.part.lua, book.scan.part.lua, book.ranked.part.lua and book.tell.part.lua before it, fit, cursor, limit.

-- A walk that has looked into so many parts is given up.
local MOST_WALKED = 150

-- Tells of them, up to the limit, and returns whether it came to an end, and the last one told. A query begins with `head` and matches
-- `tail` behind it. What was told is all there is up to the last one; so who can go on behind it gives up only then.
local function walk(queries, canGoOn)
  local heap, seen, walked, final = { size = 0 }, {}, 0, nil
  local giveUpAt = canGoOn and math.huge or MOST_WALKED

  -- A prefix that reaches into the words has some of the tail in itself.
  local function lookInto(key, prefix, tail)
    walked = walked + 1
    local pattern = literal(prefix) .. (find(prefix, ' ', 1, true) and '*' or tail)
    for _, one in ipairs(matching(key, pattern)) do
      if not seen[one.member] and (not cursor or precedes(cursor, one)) and fit(formIn(one.member)) then
        seen[one.member] = true
        push(heap, one)
      end
    end
  end

  -- What a prefix has in its top set; and behind the last one there, that there may be more.
  local function open(prefix, tail)
    local top = tops .. prefix
    local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')
    if last[1] then
      lookInto(top, prefix, tail)
      push(heap, { member = last[1], rank = tonumber(last[2]), prefix = prefix, tail = tail })
    else
      for _, key in ipairs((partsOf(prefix))) do
        lookInto(key, prefix, tail)
      end
    end
  end

  for _, query in ipairs(queries) do
    open(query.head, query.tail)
  end
  while heap.size > 0 and #told < limit do
    local one = pop(heap)
    if not one.prefix then
      readCards({ one })
      final = tell(one, fit, cursor) and one or final
      giveUpAt = final and math.min(giveUpAt, walked + MOST_WALKED) or giveUpAt
    elseif walked >= giveUpAt then
      return false, final
    else
      local places, children = partsOf(one.prefix)
      for _, key in ipairs(places) do
        lookInto(key, one.prefix, one.tail)
      end
      for _, child in ipairs(children) do
        if child ~= '\3' then
          open(child, one.tail)
        end
      end
    end
  end
  return true
end
