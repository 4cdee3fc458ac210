-- The reply: each entry once, with its first matching member. Expects: book.forms.part.lua and book.score.part.lua before
-- it.
local replies, replyCards, hasCards, known = {}, {}, false, {}

-- Adds a member to the reply, unless its entry is in it; returns whether it did. All members of an entry have one rank. So in the order of
-- ranks only an entry with the rank of the cursor can be on the previous page.
local function addToReply(one, fit, cursor)
  local id = one.separator and sub(one.member, one.separator + 1) or one.member
  if known[id] or cursor and cursor.rank == one.rank and not isFirst(one, fit) then
    return false
  end
  known[id] = true
  replyCards[#replyCards + 1], hasCards = one.card or '', hasCards or one.card
  replies[#replies + 1] = one.member
  replies[#replies + 1] = one.text
  return true
end

local function replyWith(...)
  return { replies, hasCards and replyCards or {}, string.format('%.17g', halfLives), ... }
end
