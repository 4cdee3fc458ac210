-- The forms of an entry, and the check whether they match the tokens of a query. `forms.ts` makes the same forms. Expects:
-- book.places.part.lua before it, cards.

local function begins(text, with)
  return sub(text, 1, #with) == with
end

-- The form of a member. A handle is its own form.
local function formIn(member)
  return sub(member, 1, (find(member, '\1', 1, true) or 0) - 1)
end

-- The words of a form, in its order.
local function wordsIn(form)
  local words = {}
  for word in string.gmatch(byte(form, 1) == 3 and sub(form, (find(form, ' ', 1, true))) or form, '[^ ]+') do
    words[#words + 1] = word
  end
  return words
end

-- The first three code points of two texts, alternating. After the end of a text `ended` is used instead, or the result
-- ends.
local function alternate(a, b, ended)
  local points, atA, atB = {}, 1, 1
  for _ = 1, 3 do
    local toA, toB = atA <= #a and endOf(a, atA), atB <= #b and endOf(b, atB)
    points[#points + 1] = toA and sub(a, atA, toA) or ended
    if not ended and not (toA and toB) then
      break
    end
    points[#points + 1] = toB and sub(b, atB, toB) or ended
    atA, atB = toA and toA + 1 or atA, toB and toB + 1 or atB
  end
  return table.concat(points)
end

-- All forms of a name of the same kind as this one (turned, or of two words).
local function formsLike(form)
  local words, forms = wordsIn(form), {}
  if byte(form, 1) ~= 3 then
    local space = 0
    while space do
      forms[#forms + 1] = space == 0 and form or sub(form, space + 1) .. ' ' .. sub(form, 1, space - 1)
      space = find(form, ' ', space + 1, true)
    end
    return forms
  end
  table.sort(words, isBefore)
  for i = 1, #words do
    for j = i + 1, #words do
      local all = { words[i], words[j] }
      for k = 1, #words do
        all[#all + 1] = k ~= i and k ~= j and words[k] or nil
      end
      forms[#forms + 1] = '\3' .. alternate(words[i], words[j], '\4') .. ' ' .. table.concat(all, ' ')
    end
  end
  return forms
end

-- The forms of the entry of a member, after `readCards`. Without a card, those of the same kind.
local function formsOfEntry(one)
  if not one.separator then
    return { one.member }
  elseif not one.card then
    return formsLike(sub(one.member, 1, one.separator - 1))
  end
  local forms = {}
  for form in string.gmatch(sub(one.card, 1, find(one.card, '\0', 1, true) - 1), '[^\1]+') do
    forms[#forms + 1] = form
  end
  return forms
end

-- Whether each token from `at` on can be assigned a different word from `first` on.
local function assign(words, first, tokens, at)
  local token = tokens[at]
  for i = first, token and #words or 0 do
    local word = words[i]
    if begins(word, token) then
      words[i] = ''
      if assign(words, first, tokens, at + 1) then
        return true
      end
      words[i] = word
    end
  end
  return not token
end

-- Whether a turned form begins with the first token, and different words with the other tokens.
local function fitsTurned(form, tokens)
  return byte(form, 1) ~= 3
    and begins(form, tokens[1])
    and (not tokens[2] or assign(wordsIn(form), 2, tokens, 2))
end

-- Whether the two words of a form of two begin with the first two tokens, in any order, and different words with the other
-- tokens.
local function fitsPair(form, tokens)
  if byte(form, 1) ~= 3 then
    return false
  end
  local words = wordsIn(form)
  for i = 1, 2 do
    if begins(words[i], tokens[1]) and begins(words[3 - i], tokens[2]) and assign(words, 3, tokens, 3) then
      return true
    end
  end
  return false
end

-- Adds the cards of the entries to their members.
local function readCards(found)
  local ids = {}
  for _, one in ipairs(found) do
    one.separator = find(one.member, '\1', 1, true)
    if one.separator then
      ids[#ids + 1] = sub(one.member, one.separator + 1)
      one.at = #ids
    end
  end
  -- The most arguments of a call.
  for from = 1, #ids, 4000 do
    local known = redis.call('HMGET', cards, unpack(ids, from, math.min(from + 3999, #ids)))
    for _, one in ipairs(found) do
      if one.at and one.at >= from and one.at < from + 4000 then
        one.card = known[one.at - from + 1]
      end
    end
  end
end

-- Whether a member is the first matching one of its entry.
local function isFirst(one, fit)
  local id = one.separator and sub(one.member, one.separator)
  for _, form in ipairs(id and formsOfEntry(one) or {}) do
    if fit(form) and isBefore(form .. id, one.member) then
      return false
    end
  end
  return true
end

-- Whether a form is a turned one, not one of two words.
local function isTurned(form)
  return byte(form, 1) ~= 3
end
