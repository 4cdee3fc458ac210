-- What is told of the members found: each entry once, by the first member of it that fits.
-- Expects: book.forms.part.lua and book.score.part.lua before it.
local replies, told, hasCards, known = {}, {}, false, {}

-- Tells of a member unless its entry was told of, and returns whether it did. All members of an entry have one rank: in the order of rank, only an entry that
-- has the rank of the cursor can have been told of on the page before.
local function tell(one, fit, cursor)
  local id = one.separator and sub(one.member, one.separator + 1) or one.member
  if known[id] or cursor and cursor.rank == one.rank and not isFirst(one, fit) then
    return false
  end
  known[id] = true
  told[#told + 1], hasCards = one.card or '', hasCards or one.card
  replies[#replies + 1] = one.member
  replies[#replies + 1] = one.text
  return true
end

local function replyWith(...)
  return { replies, hasCards and told or {}, string.format('%.17g', halfLives), ... }
end
