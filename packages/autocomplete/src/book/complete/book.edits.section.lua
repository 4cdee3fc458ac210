-- The members that begin with a token after one edit. The search walks the order of bytes as a tree. After each beginning
-- of the token one code point differs, so the search tries each code point that follows there. Separate from book.fuzzy.lua
-- only for readability. Expects: book.scan.part.lua and book.marks.part.lua before it, newStream.

-- Shorter tokens are not edited, since they would match too many names.
local LEAST_POINTS = 3
-- Maximum of reads of a call: directory entries, blocks and top sets. An error in the first letter is searched last. That
-- search may end early in a book with many names for each of hundreds of first letters, such as a large one of Han.
local MAX_READS = 1000

-- The cost of a read of the directory, and of a test of the marks, where a read of a block costs 1.
local DIRECTORY_READ = 0.25
local MARK_TEST = 0.1

local bits = 8 * redis.call('STRLEN', marks) - ALPHABET

-- The texts with which a member may begin. The marks of the first `known` bytes (default 0) were already tested.
local function mayBegin(texts, known)
  for i = 1, bits > 0 and #LENGTHS or 0 do
    local length, found, asked, args = LENGTHS[i], {}, {}, {}
    for _, text in ipairs(texts) do
      if #text >= length and length > (known or 0) then
        local at = #args
        asked[#asked + 1], args[at + 1], args[at + 2] = text, 'GET', 'u1'
        args[at + 3] = bitOf(numberOf(byte(text, 1, length)), bits)
      else
        found[#found + 1] = text
      end
    end
    local isMarked = asked[1] and redis.call('BITFIELD_RO', marks, unpack(args))
    for j, text in ipairs(asked) do
      found[#found + 1] = isMarked[j] == 1 and text or nil
    end
    texts = found
  end
  return texts
end

-- The byte values among the first six bytes of members; nil if some are not ASCII.
local function readAlphabet()
  local alphabet, found = bits > 0 and redis.call('GETRANGE', marks, '0', ALPHABET / 8 - 1) or '', {}
  if find(alphabet, '[^%z]', 17) then
    return nil
  end
  for one = 32, alphabet ~= '' and 127 or 0 do
    if math.floor(byte(alphabet, math.floor(one / 8) + 1) / 2 ^ (7 - one % 8)) % 2 == 1 then
      found[#found + 1] = one
    end
  end
  return found[1] and found
end

-- The texts `head`, a byte of the alphabet, a tail, with which a member may begin.
local function mayBeginBetween(head, tails, alphabet)
  local args, texts, count = {}, {}, 0
  local factor = 131 ^ (LENGTHS[1] - #head - 1)
  for _, tail in ipairs(tails) do
    local base = numberOf(byte(head .. '\0' .. tail, 1, LENGTHS[1]))
    for _, one in ipairs(alphabet) do
      args[count + 1], args[count + 2], args[count + 3] = 'GET', 'u1', bitOf(base + factor * one, bits)
      count = count + 3
    end
  end
  for i, isMarked in ipairs(redis.call('BITFIELD_RO', marks, unpack(args))) do
    if isMarked == 1 then
      local at = i - 1
      local one = at % #alphabet
      texts[#texts + 1] = head .. string.char(alphabet[one + 1]) .. tails[(at - one) / #alphabet + 1]
    end
  end
  return texts
end

local function pointsOf(token)
  local points, at = {}, 1
  while at <= #token do
    local to = endOf(token, at)
    points[#points + 1] = sub(token, at, to)
    at = to + 1
  end
  return points
end

-- Whether a text begins with the token after one edit, and not with the token itself. The edit is at their first difference.
local function isEdited(text, token)
  local at = 1
  while at <= #token and byte(text, at) == byte(token, at) do
    at = at + 1
  end
  if at > #token then
    return false
  end
  -- Back to the first byte of the code point.
  while byte(token, at) >= 0x80 and byte(token, at) < 0xC0 do
    at = at - 1
  end
  local rest, textRest = sub(token, at), sub(text, at)
  if textRest == '' then
    return false
  end
  local shorter, textShorter = sub(rest, endOf(rest, 1) + 1), sub(textRest, endOf(textRest, 1) + 1)
  if begins(textShorter, rest) then
    return true
  elseif shorter == '' then
    return false
  elseif begins(textShorter, shorter) or begins(textRest, shorter) then
    return true
  end
  local swapped = endOf(shorter, 1)
  return begins(textRest, sub(shorter, 1, swapped) .. sub(rest, 1, #rest - #shorter) .. sub(shorter, swapped + 1))
end

-- Whether a turned form fits an order of tokens after an edit in the first one. A single token may extend into the second word.
local function fitsEdited(form, order)
  if byte(form, 1) == 3 or not order[2] then
    return byte(form, 1) ~= 3 and isEdited(form, order[1])
  end
  local words = wordsIn(form)
  return isEdited(words[1], order[1]) and assign(words, 2, order, 2)
end

-- A function that returns the next best candidate of all orders, after a member if one is given. `most` is the expected number.
local function candidates(orders, most, cursor)
  local stream, alphabet = newStream(most, cursor), readAlphabet()

  local function visit(list, isWanted)
    local wanted = list
    if isWanted or cursor then
      wanted = {}
      for _, one in ipairs(list) do
        if (not isWanted or isWanted(one.member)) and (not cursor or precedes(cursor, one)) then
          wanted[#wanted + 1] = one
        end
      end
    end
    stream.addList(wanted)
  end

  -- Errors in the first letter, or in later letters.
  local function walk(order, isOfFirst)
    local token, second = order[1], order[2]
    local points, checked = pointsOf(token), {}
    local ofSecond = second and ' ' .. literal(second) .. '*' or ''
    local shorter = table.concat(points, '', 1, #points - 1)

    local function readBlocks(places, pattern, isWanted)
      for _, key in ipairs(places) do
        if blocksRead < MAX_READS then
          blocksRead = blocksRead + 1
          visit(matching(key, pattern), isWanted)
        end
      end
    end

    -- Adds all members with a prefix that an edit makes.
    local function check(edited)
      if blocksRead >= MAX_READS then
        return
      end
      blocksRead = blocksRead + DIRECTORY_READ
      if second then
        scan(edited, literal(edited) .. '*' .. ofSecond, edited, visit)
        return
      end
      local places = lightPlacesOf(edited)
      if places then
        readBlocks(places, literal(edited) .. '*')
        return
      end
      stream.addPrefix(edited)
    end

    local function checkAll(texts, known)
      local wanted = {}
      for _, edited in ipairs(blocksRead < MAX_READS and texts or {}) do
        if edited ~= shorter and not checked[edited] and not begins(edited, token) then
          checked[edited], wanted[#wanted + 1] = true, edited
        end
      end
      blocksRead = blocksRead + MARK_TEST * #wanted
      for _, edited in ipairs(mayBegin(wanted, known)) do
        check(edited)
      end
    end

    -- After a light prefix, a read of its blocks finds everything.
    local deepest, prefix = 1, ''
    while deepest <= #points and redis.call('EXISTS', tops .. prefix) == 1 do
      prefix, deepest = prefix .. points[deepest], deepest + 1
    end
    if deepest <= #points and isOfFirst == (deepest == 1) then
      readBlocks(partsOf(prefix), literal(prefix) .. '*' .. ofSecond, function(member)
        return fitsEdited(formIn(member), order)
      end)
    end
    for at = isOfFirst and math.min(1, deepest - 1) or deepest - 1, isOfFirst and 1 or 2, -1 do
      prefix = table.concat(points, '', 1, at - 1)
      local tail = table.concat(points, '', at + 1)
      local isLast = at == #points
      local without = prefix .. tail
      local swapped = not isLast and prefix .. points[at + 1] .. points[at] .. table.concat(points, '', at + 2)
      local more = points[at] .. tail
      local pattern = '*' .. literal(isLast and more or tail) .. '*' .. ofSecond

      -- Whether a member that matches the pattern has exactly one replaced or inserted code point.
      local function isNear(member)
        local to = #member > #prefix and endOf(member, #prefix + 1)
        return to
          and (not isLast and sub(member, to + 1, to + #tail) == tail or sub(member, to + 1, to + #more) == more)
      end

      -- Follows a prefix byte by byte, until the bytes are a code point.
      local function follow(part, texts)
        local places, children = partsOf(part)
        readBlocks(places, literal(part) .. pattern, isNear)
        for _, child in ipairs(children) do
          if #child < endOf(child, #prefix + 1) and blocksRead < MAX_READS then
            follow(child, {})
          else
            texts[#texts + 1] = child .. more
            texts[#texts + 1] = not isLast and child .. tail or nil
          end
        end
        checkAll(texts)
      end
      local others = isLast and {} or { without, swapped }
      if alphabet and #prefix < LENGTHS[1] and #prefix + 1 + #tail >= LENGTHS[1] then
        checkAll(others)
        blocksRead = blocksRead + MARK_TEST * #alphabet
        checkAll(mayBeginBetween(prefix, isLast and { more } or { tail, more }, alphabet), LENGTHS[1])
      else
        follow(prefix, others)
      end
    end
  end

  maxBlocksRead = MAX_READS
  for _, isOfFirst in ipairs({ false, true }) do
    for _, order in ipairs(orders) do
      walk(order, isOfFirst)
    end
  end
  return stream.nextBest
end
