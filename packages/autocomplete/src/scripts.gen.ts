// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const bookApply = new Script({
  name: "book.apply",
  isReadOnly: false,
  keys: ["directory","meta","cards","firstBlock","tops","requests","marks","absent"],
  args: ["halfLifeMs"],
  restArg: "changes",
  source: "#!lua\n" +
    "-- Puts entries into a book, takes them out, or changes their scores, one after the other.\n" +
    "--\n" +
    "-- An entry is one member for each form by which it is found; all of them have its rank, which is the negated score. What is not\n" +
    "-- said by its members stands on its card. An entry without a card has the members that follow from its key.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   directory    ZSET with score 0 of <start> NUL <number of block>, of a book of several blocks; until there is only one\n" +
    "--   meta         HASH: size (entries), blocks (the highest number), markedUntil (the number from which on new marks are begun), markedTo (up to\n" +
    "--                where they are made); until the book is empty\n" +
    "--   cards        HASH encoded key -> forms, each behind \\1 but for the first, NUL, what Lua does not read; until the last card goes\n" +
    "--   firstBlock   ZSET member -> rank; blocks with other numbers have other ends of this name; until it is empty\n" +
    "--   tops         the beginning of the names of the top sets: ZSET member -> rank, behind it the prefix; until the prefix is light\n" +
    "--   requests     the beginning of the names of the boosts with an id: STRING <amount> NUL <encoded key> NUL <new score>; for an hour\n" +
    "--   marks        STRING, bits for what members begin with, of a book of 64 blocks and more, until one is left; behind :new, those being made\n" +
    "--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   scores halve in so long, ms; 0: they are as they were set\n" +
    "--   changes...   for each: add, remove or boost; the encoded key; the score, or by how much, or nothing to keep it; the card, or\n" +
    "--                the encoded id of a boost, or nothing; how many members follow from the key, and these; with add: how many members it has, and these\n" +
    "-- RETURNS\n" +
    "--   for each: add and remove, 1 if the entry was there, else 0; boost, the new score as a string, or an empty one if it is not there,\n" +
    "--   or ! if another boost has had its id\n" +
    "local directory, meta, cards, firstBlock, tops = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local requests, marks, absent = KEYS[6], KEYS[7], KEYS[8]\n" +
    "local halfLifeMs = tonumber(ARGV[1])\n" +
    "local changes = ARGV\n" +
    "local find = string.find\n" +
    "local REMEMBERED_MS = '3600000'\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server. Numbers are given to\n" +
    "-- commands as strings, since it takes Lua longer to write one than Redis to read it.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "-- Whether a text comes before another one, where both are the same in front of a byte, by default the first.\n" +
    "local function isBefore(a, b, at)\n" +
    "  at = at or 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    -- Equal names differ in their keys only, behind dozens of bytes.\n" +
    "    at = at + (at > 2 and sub(a, at, at + 15) == sub(b, at, at + 15) and 16 or 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best first: ranks are negated scores, and members of one score stand in the order of their bytes.\n" +
    "local function precedes(a, b)\n" +
    "  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)\n" +
    "end\n" +
    "\n" +
    "-- Where the code point ends that begins at a byte.\n" +
    "local function endOf(text, at)\n" +
    "  local first = byte(text, at)\n" +
    "  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)\n" +
    "end\n" +
    "\n" +
    "-- An entry of the directory is where a block begins, NUL, and its number.\n" +
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', '0', '1')[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- A text as a pattern that only it matches.\n" +
    "local function literal(text)\n" +
    "  return find(text, '[%*%?%[%\\\\]') and string.gsub(text, '[%*%?%[%\\\\]', '\\\\%0') or text\n" +
    "end\n" +
    "\n" +
    "-- Members and ranks in a flat list as members with their ranks, the best first.\n" +
    "local function inOrder(list)\n" +
    "  local found, isSorted = {}, true\n" +
    "  for i = 1, #list, 2 do\n" +
    "    local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    isSorted = isSorted and (i == 1 or precedes(found[#found], one))\n" +
    "    found[#found + 1] = one\n" +
    "  end\n" +
    "  if not isSorted then\n" +
    "    table.sort(found, precedes)\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The members of a block or top set that match a pattern, the best first. The server looks through them: a third of what it costs to\n" +
    "-- bring all of a block into the script. COUNT is more than there are, so one call is all, and a set in a list comes in its order.\n" +
    "local function matching(key, pattern)\n" +
    "  return inOrder(redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2])\n" +
    "end\n" +
    "\n" +
    "-- Whether a block begins within a prefix, and not where it begins.\n" +
    "local function isWithin(entry, part)\n" +
    "  return entry and sub(entry, 1, #part) == part and byte(entry, #part + 1) ~= 0\n" +
    "end\n" +
    "\n" +
    "-- The blocks that may have members with a light prefix; nothing of a heavy one.\n" +
    "local function lightPlacesOf(prefix)\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, '(' .. prefix .. '\\255', '-', 'LIMIT', '0', '2')\n" +
    "  if isWithin(entries[2], prefix) then\n" +
    "    return nil\n" +
    "  elseif not entries[1] then\n" +
    "    return { firstBlock }\n" +
    "  end\n" +
    "  return { keyOf(entries[1]), isWithin(entries[1], prefix) and keyOf(entries[2]) or nil }\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one byte longer, that are heavy, and the blocks that hold anything else of it. Bytes\n" +
    "-- and not code points, so that no alphabet gives a prefix more than a few dozen parts: of Han there are thousands.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks. The last part comes first: of the two last blocks that begin in front of a place, both tell\n" +
    "-- whether the part is heavy, and the last one is where it ends.\n" +
    "local function partsOf(prefix)\n" +
    "  local found, children, above, bound = {}, {}, nil, prefix .. '\\255'\n" +
    "  repeat\n" +
    "    local entries, at = redis.call('ZREVRANGEBYLEX', directory, '(' .. bound, '-', 'LIMIT', '0', '3'), 1\n" +
    "    if not entries[1] then\n" +
    "      return { firstBlock }, {}\n" +
    "    end\n" +
    "    bound = nil\n" +
    "    while not bound do\n" +
    "      local entry = entries[at]\n" +
    "      if not isWithin(entry, prefix) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "        return found, children\n" +
    "      end\n" +
    "      local part = sub(entry, 1, #prefix + 1)\n" +
    "      local isHeavy = isWithin(entry, part) and isWithin(entries[at + 1], part)\n" +
    "      -- The block in which a heavy part ends may go on behind it; not if another one is next to it, as b is to a.\n" +
    "      if not (isHeavy and above and byte(above, -1) == byte(part, -1) + 1) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "      end\n" +
    "      above = isHeavy and part\n" +
    "      if isHeavy then\n" +
    "        children[#children + 1], bound = part, part\n" +
    "      elseif at == 2 then\n" +
    "        bound = entry\n" +
    "      end\n" +
    "      at = at + 1\n" +
    "    end\n" +
    "  until false\n" +
    "end\n" +
    "-- The best members that have a prefix, exactly.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "-- Adds the best of a sorted set that have the prefix and come behind a member, up to a number. `seen` may be nil.\n" +
    "local function take(key, prefix, most, after, into, seen)\n" +
    "  local left = most\n" +
    "  for _, one in ipairs(matching(key, literal(prefix) .. '*')) do\n" +
    "    if left == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    if not (seen and seen[one.member]) and (not after or precedes(after, one)) then\n" +
    "      into[#into + 1], left = one, left - 1\n" +
    "      if seen then\n" +
    "        seen[one.member] = true\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best of a top set, up to a number; nothing of one that is not there.\n" +
    "local function bestOf(top, most)\n" +
    "  local list, found = redis.call('ZRANGE', top, '0', most - 1, 'WITHSCORES'), {}\n" +
    "  for i = 1, #list, 2 do\n" +
    "    found[#found + 1] = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "local ranked\n" +
    "\n" +
    "-- The best of two lists that are in the order of rank.\n" +
    "local function merge(a, b, most)\n" +
    "  local found, i, j = {}, 1, 1\n" +
    "  while #found < most and (a[i] or b[j]) do\n" +
    "    if not b[j] or a[i] and precedes(a[i], b[j]) then\n" +
    "      found[#found + 1], i = a[i], i + 1\n" +
    "    else\n" +
    "      found[#found + 1], j = b[j], j + 1\n" +
    "    end\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- As `ranked`, of a prefix whose top set does not reach, or that has none.\n" +
    "local function expand(prefix, most, after)\n" +
    "  local places, children = partsOf(prefix)\n" +
    "  if #children == 0 and #places < 3 then\n" +
    "    local found, others = {}, {}\n" +
    "    take(places[1], prefix, most, after, found)\n" +
    "    if places[2] then\n" +
    "      take(places[2], prefix, most, after, others)\n" +
    "    end\n" +
    "    return #others > 0 and merge(found, others, most) or found\n" +
    "  end\n" +
    "  local found, seen, lasts = {}, {}, {}\n" +
    "  if children[#children] == '\\3' then\n" +
    "    -- All entries are asked for, and all have other members.\n" +
    "    children[#children] = nil\n" +
    "  end\n" +
    "  for _, key in ipairs(places) do\n" +
    "    take(key, prefix, most, after, found, seen)\n" +
    "  end\n" +
    "  for i, child in ipairs(children) do\n" +
    "    local top = tops .. child\n" +
    "    if after then\n" +
    "      take(top, child, most, after, found, seen)\n" +
    "      local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')\n" +
    "      lasts[i] = last[1] and { member = last[1], rank = tonumber(last[2]) }\n" +
    "    else\n" +
    "      -- Few of most parts are among the best of all.\n" +
    "      for _, one in ipairs(bestOf(top, math.ceil(most / 4))) do\n" +
    "        found[#found + 1] = not seen[one.member] and one or nil\n" +
    "        seen[one.member], lasts[i] = true, one\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  table.sort(found, precedes)\n" +
    "  local worst = found[most]\n" +
    "  for i, child in ipairs(children) do\n" +
    "    -- It may have more that belongs here than its top set tells. There is no set where the last member has gone, and its block will.\n" +
    "    if lasts[i] and (not worst or precedes(lasts[i], worst)) then\n" +
    "      for _, one in ipairs(ranked(child, most, after)) do\n" +
    "        if not seen[one.member] then\n" +
    "          seen[one.member] = true\n" +
    "          found[#found + 1] = one\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  table.sort(found, precedes)\n" +
    "  for i = #found, most + 1, -1 do\n" +
    "    found[i] = nil\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The best members with a prefix, in the order of rank, behind a member if one is given. Without a prefix, some are left out: those for\n" +
    "-- two words, and others but the first of an entry.\n" +
    "function ranked(prefix, most, after)\n" +
    "  local found, top = {}, tops .. prefix\n" +
    "  if after then\n" +
    "    take(top, prefix, most, after, found)\n" +
    "  else\n" +
    "    found = bestOf(top, most)\n" +
    "  end\n" +
    "  return #found == most and found or expand(prefix, most, after)\n" +
    "end\n" +
    "-- The forms of an entry, and which of them fit the tokens of a query. `forms.ts` makes the same ones.\n" +
    "-- Expects: book.places.part.lua before it, cards.\n" +
    "\n" +
    "local function begins(text, with)\n" +
    "  return sub(text, 1, #with) == with\n" +
    "end\n" +
    "\n" +
    "-- The form of a member. `ann ann` is all of its member, as a handle is: it has one form, which is its key.\n" +
    "local function formIn(member)\n" +
    "  return sub(member, 1, (find(member, '\\1', 1, true) or 0) - 1)\n" +
    "end\n" +
    "\n" +
    "-- The words of a form, in its order.\n" +
    "local function wordsIn(form)\n" +
    "  local words = {}\n" +
    "  for word in string.gmatch(byte(form, 1) == 3 and sub(form, (find(form, ' ', 1, true))) or form, '[^ ]+') do\n" +
    "    words[#words + 1] = word\n" +
    "  end\n" +
    "  return words\n" +
    "end\n" +
    "\n" +
    "-- The first code points of two texts in turn, up to the third; a text that has ended gives `ended`, or ends all.\n" +
    "local function inTurn(a, b, ended)\n" +
    "  local turns, atA, atB = {}, 1, 1\n" +
    "  for _ = 1, 3 do\n" +
    "    local toA, toB = atA <= #a and endOf(a, atA), atB <= #b and endOf(b, atB)\n" +
    "    turns[#turns + 1] = toA and sub(a, atA, toA) or ended\n" +
    "    if not ended and not (toA and toB) then\n" +
    "      break\n" +
    "    end\n" +
    "    turns[#turns + 1] = toB and sub(b, atB, toB) or ended\n" +
    "    atA, atB = toA and toA + 1 or atA, toB and toB + 1 or atB\n" +
    "  end\n" +
    "  return table.concat(turns)\n" +
    "end\n" +
    "\n" +
    "-- All forms of a name that are of one kind with one of them.\n" +
    "local function formsLike(form)\n" +
    "  local words, forms = wordsIn(form), {}\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    local space = 0\n" +
    "    while space do\n" +
    "      forms[#forms + 1] = space == 0 and form or sub(form, space + 1) .. ' ' .. sub(form, 1, space - 1)\n" +
    "      space = find(form, ' ', space + 1, true)\n" +
    "    end\n" +
    "    return forms\n" +
    "  end\n" +
    "  table.sort(words, isBefore)\n" +
    "  for i = 1, #words do\n" +
    "    for j = i + 1, #words do\n" +
    "      local all = { words[i], words[j] }\n" +
    "      for k = 1, #words do\n" +
    "        all[#all + 1] = k ~= i and k ~= j and words[k] or nil\n" +
    "      end\n" +
    "      forms[#forms + 1] = '\\3' .. inTurn(words[i], words[j], '\\4') .. ' ' .. table.concat(all, ' ')\n" +
    "    end\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Forms of the entry that a member belongs to, after `readCards`: all, or those like that of the member.\n" +
    "local function formsOfEntry(one)\n" +
    "  if not one.separator then\n" +
    "    return { one.member }\n" +
    "  elseif not one.card then\n" +
    "    return formsLike(sub(one.member, 1, one.separator - 1))\n" +
    "  end\n" +
    "  local forms = {}\n" +
    "  for form in string.gmatch(sub(one.card, 1, find(one.card, '\\0', 1, true) - 1), '[^\\1]+') do\n" +
    "    forms[#forms + 1] = form\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Gives the tokens from `at` on words from `first` on, each its own.\n" +
    "local function assign(words, first, tokens, at)\n" +
    "  local token = tokens[at]\n" +
    "  for i = first, token and #words or 0 do\n" +
    "    local word = words[i]\n" +
    "    if begins(word, token) then\n" +
    "      words[i] = ''\n" +
    "      if assign(words, first, tokens, at + 1) then\n" +
    "        return true\n" +
    "      end\n" +
    "      words[i] = word\n" +
    "    end\n" +
    "  end\n" +
    "  return not token\n" +
    "end\n" +
    "\n" +
    "-- Whether the first token begins a turned form, and each other one a word of its own behind the first.\n" +
    "local function fitsTurned(form, tokens)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "    and begins(form, tokens[1])\n" +
    "    and (not tokens[2] or assign(wordsIn(form), 2, tokens, 2))\n" +
    "end\n" +
    "\n" +
    "-- Whether the first two tokens begin the two words of a form for two, in any order, and each other one a word of its own.\n" +
    "local function fitsPair(form, tokens)\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    return false\n" +
    "  end\n" +
    "  local words = wordsIn(form)\n" +
    "  for i = 1, 2 do\n" +
    "    if begins(words[i], tokens[1]) and begins(words[3 - i], tokens[2]) and assign(words, 3, tokens, 3) then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "-- Adds to members what is known of their entries.\n" +
    "local function readCards(found)\n" +
    "  local ids = {}\n" +
    "  for _, one in ipairs(found) do\n" +
    "    one.separator = find(one.member, '\\1', 1, true)\n" +
    "    if one.separator then\n" +
    "      ids[#ids + 1] = sub(one.member, one.separator + 1)\n" +
    "      one.at = #ids\n" +
    "    end\n" +
    "  end\n" +
    "  -- As many as a call can take at once.\n" +
    "  for from = 1, #ids, 4000 do\n" +
    "    local known = redis.call('HMGET', cards, unpack(ids, from, math.min(from + 3999, #ids)))\n" +
    "    for _, one in ipairs(found) do\n" +
    "      if one.at and one.at >= from and one.at < from + 4000 then\n" +
    "        one.card = known[one.at - from + 1]\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Whether no other member of its entry that fits stands before a member.\n" +
    "local function isFirst(one, fit)\n" +
    "  local id = one.separator and sub(one.member, one.separator)\n" +
    "  for _, form in ipairs(id and formsOfEntry(one) or {}) do\n" +
    "    if fit(form) and isBefore(form .. id, one.member) then\n" +
    "      return false\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "-- Whether a form is not one for two words.\n" +
    "local function isTurned(form)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "end\n" +
    "-- The top sets. One holds the best members of its prefix without a gap: whatever ranks before its last member is in it. So\n" +
    "-- the last member is the floor: what comes above it goes in, what falls below it goes out, and nothing else is known.\n" +
    "-- Expects: book.ranked.part.lua and book.forms.part.lua before it.\n" +
    "\n" +
    "-- Fewer are made up again; more are cut to the middle.\n" +
    "local LEAST_TOP, MIDDLE_TOP, MOST_TOP = 12, 20, 28\n" +
    "\n" +
    "local function append(key, list)\n" +
    "  local args = {}\n" +
    "  for i, one in ipairs(list) do\n" +
    "    args[2 * i - 1], args[2 * i] = one.rank, one.member\n" +
    "  end\n" +
    "  redis.call('ZADD', key, unpack(args))\n" +
    "end\n" +
    "\n" +
    "-- The top set of the whole book has entries: each by the first of its members that are not for two words. They have as many\n" +
    "-- forms as their names have words, and ten of them would not fit into a set of members.\n" +
    "local function buildWhole()\n" +
    "  -- An entry has 128 members at most, so there are some entries among as many.\n" +
    "  local MOST_ASKED = 1000\n" +
    "  local found, after, asked, wanted, isAll = {}, nil, 0, 2 * MIDDLE_TOP, false\n" +
    "  repeat\n" +
    "    local list = expand('', wanted, after)\n" +
    "    readCards(list)\n" +
    "    for _, one in ipairs(list) do\n" +
    "      found[#found + 1] = #found < MIDDLE_TOP and isTurned(one.member) and isFirst(one, isTurned) and one or nil\n" +
    "    end\n" +
    "    after, isAll, asked, wanted = list[#list], #list < wanted, asked + wanted, 2 * wanted\n" +
    "  until #found == MIDDLE_TOP or isAll or asked >= MOST_ASKED\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- From what it consists of. Its heavy parts have their top sets. There is nothing if the block within it has lost its last\n" +
    "-- member, and is about to go.\n" +
    "local function build(prefix)\n" +
    "  local found = prefix == '' and buildWhole() or expand(prefix, MIDDLE_TOP)\n" +
    "  if #found > 0 then\n" +
    "    append(tops .. prefix, found)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Tells a top set of a member where it ranks now; without a rank it is gone. One that is new may be the first of its rank in a set\n" +
    "-- that had too few. One that ranks no worse than `before` needn't be looked for in a set that ends in front of it. Returns whether\n" +
    "-- there is such a set, and whether it has too few now.\n" +
    "local function settleIn(prefix, member, rank, isNew, before)\n" +
    "  local top = tops .. prefix\n" +
    "  local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')\n" +
    "  if not last[1] then\n" +
    "    return false, false\n" +
    "  end\n" +
    "  local floor = tonumber(last[2])\n" +
    "  if rank and not (floor < rank or floor == rank and isBefore(last[1], member)) then\n" +
    "    if redis.call('ZADD', top, rank, member) == 1 and redis.call('ZCARD', top) > MOST_TOP then\n" +
    "      redis.call('ZREMRANGEBYRANK', top, MIDDLE_TOP, -1)\n" +
    "    end\n" +
    "    return true, false\n" +
    "  elseif before and rank <= before then\n" +
    "    return true, false\n" +
    "  end\n" +
    "  return true, (isNew or redis.call('ZREM', top, member) == 1) and redis.call('ZCARD', top) < LEAST_TOP\n" +
    "end\n" +
    "\n" +
    "-- Tells its top sets of a member, but for that of the whole book.\n" +
    "local function settle(member, rank, isNew, before)\n" +
    "  local thin = {}\n" +
    "  for cut = 1, #member do\n" +
    "    local prefix = sub(member, 1, cut)\n" +
    "    local isHeavy, isThin = settleIn(prefix, member, rank, isNew, before)\n" +
    "    if not isHeavy then\n" +
    "      break\n" +
    "    end\n" +
    "    thin[#thin + 1] = isThin and prefix or nil\n" +
    "  end\n" +
    "  -- The longest first: the others are made from them.\n" +
    "  for i = #thin, 1, -1 do\n" +
    "    build(thin[i])\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Tells the top set of the whole book of the first member of an entry. Such a set is made from all others, so it comes last.\n" +
    "local function settleWhole(member, rank, isNew, before)\n" +
    "  local _, isThin = settleIn('', member, rank, isNew, before)\n" +
    "  if isThin then\n" +
    "    build('')\n" +
    "  end\n" +
    "end\n" +
    "-- Marks: a bit for what each member begins with, up to the fifth and up to the sixth byte, in one text. A search with an edit asks for\n" +
    "-- hundreds of places where hardly anything is, and one command tells of many which needn't be looked for. A bit may be set for nothing, as\n" +
    "-- those of members that have gone are until there are new marks. In front are 256 bits for the bytes that the first six are of.\n" +
    "-- Expects: sub, byte, marks.\n" +
    "\n" +
    "-- Bytes that have marks.\n" +
    "local LENGTHS = { 5, 6 }\n" +
    "local ALPHABET = 256\n" +
    "\n" +
    "local function numberOf(a, b, c, d, e, f)\n" +
    "  local number = (((a * 131 + b) * 131 + c) * 131 + d) * 131 + e\n" +
    "  return f and number * 131 + f or number\n" +
    "end\n" +
    "\n" +
    "-- As a string, of a number and how many bits there are behind the alphabet.\n" +
    "local function bitOf(number, bits)\n" +
    "  return string.format('%d', ALPHABET + number % bits)\n" +
    "end\n" +
    "-- How marks are made: for each new member, and for all of them anew, some blocks at a time, when as many blocks have been made as there\n" +
    "-- were the last time. So there are as many bits as the book needs, and few for what has gone.\n" +
    "-- Expects: book.places.part.lua and book.marks.part.lua before it, directory, meta.\n" +
    "\n" +
    "-- Bits for each block when they are made. Smaller books have none.\n" +
    "local BITS, LEAST_MARKED = 384, 64\n" +
    "-- Blocks that are marked anew with each one that splits or joins.\n" +
    "local MARKED_AT_ONCE = 4\n" +
    "\n" +
    "local newMarks = marks .. ':new'\n" +
    "-- Bits of both behind the alphabet, once they are asked for; less than none if there are no marks.\n" +
    "local bitsOf = {}\n" +
    "\n" +
    "local function bitsIn(key)\n" +
    "  bitsOf[key] = bitsOf[key] or 8 * redis.call('STRLEN', key) - ALPHABET\n" +
    "  return bitsOf[key]\n" +
    "end\n" +
    "\n" +
    "local function mark(key, members)\n" +
    "  local bits = bitsIn(key)\n" +
    "  if bits < 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local alphabet, args, seen = redis.call('GETRANGE', key, '0', ALPHABET / 8 - 1), {}, {}\n" +
    "  local function set(at)\n" +
    "    if not seen[at] then\n" +
    "      local count = #args\n" +
    "      seen[at] = true\n" +
    "      args[count + 1], args[count + 2], args[count + 3], args[count + 4] = 'SET', 'u1', at, '1'\n" +
    "    end\n" +
    "  end\n" +
    "  for _, member in ipairs(members) do\n" +
    "    for _, length in ipairs(LENGTHS) do\n" +
    "      if #member >= length then\n" +
    "        set(bitOf(numberOf(byte(member, 1, length)), bits))\n" +
    "      end\n" +
    "    end\n" +
    "    for _, one in ipairs({ byte(member, 1, LENGTHS[#LENGTHS]) }) do\n" +
    "      if math.floor(byte(alphabet, math.floor(one / 8) + 1) / 2 ^ (7 - one % 8)) % 2 == 0 then\n" +
    "        set(one)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  if args[1] then\n" +
    "    redis.call('BITFIELD', key, unpack(args))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Goes on with new marks, or begins with them if it is time.\n" +
    "local function renewMarks()\n" +
    "  local known = redis.call('HMGET', meta, 'blocks', 'markedUntil', 'markedTo')\n" +
    "  local made, untilMade, from = tonumber(known[1]), tonumber(known[2] or '0'), known[3]\n" +
    "  -- New marks that were begun may be gone: evicted, or deleted by hand.\n" +
    "  if not from or bitsIn(newMarks) < 0 then\n" +
    "    local count = redis.call('ZCARD', directory)\n" +
    "    if count < LEAST_MARKED or not from and made < untilMade then\n" +
    "      if from then\n" +
    "        redis.call('HDEL', meta, 'markedTo')\n" +
    "      end\n" +
    "      return\n" +
    "    end\n" +
    "    redis.call('DEL', newMarks)\n" +
    "    from, bitsOf[newMarks] = '', count * BITS\n" +
    "    redis.call('SETBIT', newMarks, ALPHABET + count * BITS - 1, '0')\n" +
    "    redis.call('HSET', meta, 'markedUntil', made + count)\n" +
    "  end\n" +
    "  local entries = redis.call('ZRANGEBYLEX', directory, '[' .. from, '+', 'LIMIT', '0', MARKED_AT_ONCE)\n" +
    "  for _, entry in ipairs(entries) do\n" +
    "    mark(newMarks, redis.call('ZRANGE', keyOf(entry), '0', '-1'))\n" +
    "    from = sub(entry, 1, find(entry, '\\0', 1, true) - 1) .. '\\1'\n" +
    "  end\n" +
    "  if #entries == MARKED_AT_ONCE then\n" +
    "    redis.call('HSET', meta, 'markedTo', from)\n" +
    "  else\n" +
    "    redis.call('RENAME', newMarks, marks)\n" +
    "    redis.call('HDEL', meta, 'markedTo')\n" +
    "    bitsOf = {}\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function dropMarks()\n" +
    "  redis.call('DEL', marks, newMarks)\n" +
    "  redis.call('HDEL', meta, 'markedTo', 'markedUntil')\n" +
    "  bitsOf = {}\n" +
    "end\n" +
    "-- Blocks that grow too large or too small.\n" +
    "-- Expects: book.tops.part.lua and book.marking.part.lua before it, meta.\n" +
    "\n" +
    "-- The listpack of a sorted set ends at 128 members, by the server's default.\n" +
    "local MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 46, 8, 30\n" +
    "\n" +
    "local function contentOf(key)\n" +
    "  local list, found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}\n" +
    "  for i = 1, #list, 2 do\n" +
    "    found[#found + 1] = { member = list[i], rank = list[i + 1] }\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- Calls `act` with each prefix of the start of a block for which so many blocks begin within it, the longest first.\n" +
    "local function eachPrefixWith(start, count, act)\n" +
    "  local found, cut = {}, 0\n" +
    "  while cut < #start do\n" +
    "    local prefix = sub(start, 1, cut)\n" +
    "    local starts = redis.call('ZLEXCOUNT', directory, '(' .. prefix .. '\\1', '(' .. prefix .. '\\255')\n" +
    "    if starts == count then\n" +
    "      found[#found + 1] = prefix\n" +
    "    elseif starts < count then\n" +
    "      break\n" +
    "    end\n" +
    "    cut = cut + 1\n" +
    "  end\n" +
    "  for i = #found, 1, -1 do\n" +
    "    act(found[i])\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function split(key, entry)\n" +
    "  local all = contentOf(key)\n" +
    "  table.sort(all, function(a, b)\n" +
    "    return isBefore(a.member, b.member)\n" +
    "  end)\n" +
    "  local half = math.floor(#all / 2)\n" +
    "  local low, high = all[half].member, all[half + 1].member\n" +
    "  -- The shortest text that tells the two halves apart.\n" +
    "  local cut = 0\n" +
    "  repeat\n" +
    "    cut = endOf(high, cut + 1)\n" +
    "  until sub(low, 1, cut) ~= sub(high, 1, cut)\n" +
    "  local start = sub(high, 1, cut)\n" +
    "  local upper, names = {}, {}\n" +
    "  for i = half + 1, #all do\n" +
    "    upper[i - half], names[i - half] = all[i], all[i].member\n" +
    "  end\n" +
    "  local id = redis.call('HINCRBY', meta, 'blocks', 1)\n" +
    "  -- The block that a book begins with has an entry as soon as there is another one.\n" +
    "  if not entry then\n" +
    "    redis.call('ZADD', directory, '0', '\\0000')\n" +
    "  end\n" +
    "  redis.call('ZADD', directory, '0', start .. '\\0' .. id)\n" +
    "  append(blocks .. id, upper)\n" +
    "  redis.call('ZREM', key, unpack(names))\n" +
    "  eachPrefixWith(start, 2, build)\n" +
    "  renewMarks()\n" +
    "end\n" +
    "\n" +
    "local function namesOf(content)\n" +
    "  local names = {}\n" +
    "  for i, one in ipairs(content) do\n" +
    "    names[i] = one.member\n" +
    "  end\n" +
    "  return names\n" +
    "end\n" +
    "\n" +
    "-- Takes the block of an entry into the one before it.\n" +
    "local function join(into, entry)\n" +
    "  local from = keyOf(entry)\n" +
    "  local moved = contentOf(from)\n" +
    "  if #moved > 0 then\n" +
    "    append(keyOf(into), moved)\n" +
    "    redis.call('DEL', from)\n" +
    "    -- They may come where new marks have been made.\n" +
    "    mark(newMarks, namesOf(moved))\n" +
    "  end\n" +
    "  redis.call('ZREM', directory, entry)\n" +
    "  eachPrefixWith(sub(entry, 1, find(entry, '\\0', 1, true) - 1), 1, function(prefix)\n" +
    "    redis.call('DEL', tops .. prefix)\n" +
    "  end)\n" +
    "  if redis.call('ZCARD', directory) == 1 then\n" +
    "    redis.call('DEL', directory)\n" +
    "    dropMarks()\n" +
    "  else\n" +
    "    renewMarks()\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A block from which something was taken joins a neighbour if both are small.\n" +
    "local function shrink(key, entry)\n" +
    "  local count = redis.call('ZCARD', key)\n" +
    "  if not entry or count >= LEAST_BLOCK then\n" +
    "    return\n" +
    "  end\n" +
    "  local next = redis.call('ZRANGEBYLEX', directory, '(' .. entry, '+', 'LIMIT', '0', '1')[1]\n" +
    "  local previous = redis.call('ZREVRANGEBYLEX', directory, '(' .. entry, '-', 'LIMIT', '0', '1')[1]\n" +
    "  if previous and (count == 0 or count + redis.call('ZCARD', keyOf(previous)) <= MERGED_BLOCK) then\n" +
    "    join(previous, entry)\n" +
    "  elseif next and (count == 0 or count + redis.call('ZCARD', keyOf(next)) <= MERGED_BLOCK) then\n" +
    "    join(entry, next)\n" +
    "  end\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0, and any other one a negative rank: log2 is -1074 or\n" +
    "-- more. `score.ts` does it likewise.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS, OFFSET = 1000, 1100\n" +
    "local LARGEST = 1.7976931348623157e308\n" +
    "local halfLives = 0\n" +
    "if halfLifeMs > 0 then\n" +
    "  local time = redis.call('TIME')\n" +
    "  halfLives = (time[1] * 1000 + time[2] / 1000) / halfLifeMs\n" +
    "end\n" +
    "\n" +
    "local function log2(value)\n" +
    "  return math.log(value) / math.log(2)\n" +
    "end\n" +
    "\n" +
    "local function rankOf(score)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return score == 0 and '0' or string.format('%.17g', -score)\n" +
    "  end\n" +
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives + OFFSET))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or math.min(LARGEST, 2 ^ (-rank / UNITS - OFFSET - halfLives))\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "\n" +
    "local function put(member, rank)\n" +
    "  local key, entry = placeOf(member)\n" +
    "  local isNew = redis.call('ZADD', key, rank, member) == 1\n" +
    "  if isNew and entry then\n" +
    "    mark(marks, { member })\n" +
    "    mark(newMarks, { member })\n" +
    "  end\n" +
    "  if isNew and redis.call('ZCARD', key) > MOST_BLOCK then\n" +
    "    split(key, entry)\n" +
    "  end\n" +
    "  settle(member, tonumber(rank), isNew)\n" +
    "end\n" +
    "\n" +
    "local function drop(member)\n" +
    "  local key, entry = placeOf(member)\n" +
    "  redis.call('ZREM', key, member)\n" +
    "  settle(member)\n" +
    "  shrink(key, entry)\n" +
    "end\n" +
    "\n" +
    "local replies, at = {}, 2\n" +
    "local function readMembers()\n" +
    "  local count, members = tonumber(changes[at]), {}\n" +
    "  for i = 1, count do\n" +
    "    members[i] = changes[at + i]\n" +
    "  end\n" +
    "  at = at + count + 1\n" +
    "  return members\n" +
    "end\n" +
    "\n" +
    "-- The member by which the book as a whole has an entry.\n" +
    "local function firstOf(members)\n" +
    "  local first\n" +
    "  for _, member in ipairs(members) do\n" +
    "    first = isTurned(member) and not (first and isBefore(first, member)) and member or first\n" +
    "  end\n" +
    "  return first\n" +
    "end\n" +
    "\n" +
    "while changes[at] do\n" +
    "  local what, id, amount, card = changes[at], changes[at + 1], changes[at + 2], changes[at + 3]\n" +
    "  at = at + 4\n" +
    "  local members = readMembers()\n" +
    "  local old = redis.call('HGET', cards, id)\n" +
    "  if old then\n" +
    "    members = {}\n" +
    "    for form in string.gmatch(sub(old, 1, find(old, '\\0', 1, true) - 1), '[^\\1]+') do\n" +
    "      members[#members + 1] = form .. '\\1' .. id\n" +
    "    end\n" +
    "  end\n" +
    "  -- A key without a word has no members, and its entry has a card.\n" +
    "  local place = members[1] and placeOf(members[1])\n" +
    "  local rank = place and redis.call('ZSCORE', place, members[1])\n" +
    "  local reply = rank and 1 or 0\n" +
    "  local request = what == 'boost' and card ~= '' and requests .. card\n" +
    "  local isMade = request and redis.call('GET', request)\n" +
    "  local asked = amount .. '\\0' .. id .. '\\0'\n" +
    "  if isMade then\n" +
    "    reply = sub(isMade, 1, #asked) == asked and sub(isMade, #asked + 1) or '!'\n" +
    "  elseif what == 'add' then\n" +
    "    local wanted, keep = readMembers(), {}\n" +
    "    local now = amount ~= '' and rankOf(tonumber(amount)) or rank or rankOf(0)\n" +
    "    for _, member in ipairs(wanted) do\n" +
    "      keep[member] = true\n" +
    "    end\n" +
    "    -- Before its members, of which the first comes first: a top set of the whole book may be made meanwhile, and looks at both.\n" +
    "    if card ~= '' then\n" +
    "      redis.call('HSET', cards, id, card)\n" +
    "    elseif old then\n" +
    "      redis.call('HDEL', cards, id)\n" +
    "    end\n" +
    "    if rank then\n" +
    "      for _, member in ipairs(members) do\n" +
    "        if not keep[member] then\n" +
    "          drop(member)\n" +
    "        end\n" +
    "      end\n" +
    "    else\n" +
    "      redis.call('HINCRBY', meta, 'size', 1)\n" +
    "    end\n" +
    "    local first = firstOf(wanted)\n" +
    "    put(first, now)\n" +
    "    for _, member in ipairs(wanted) do\n" +
    "      if member ~= first then\n" +
    "        put(member, now)\n" +
    "      end\n" +
    "    end\n" +
    "    local before = rank and firstOf(members)\n" +
    "    if before and before ~= first then\n" +
    "      settleWhole(before)\n" +
    "    end\n" +
    "    settleWhole(first, tonumber(now), not rank)\n" +
    "  elseif not rank then\n" +
    "    reply = what == 'boost' and '' or 0\n" +
    "  elseif what == 'remove' then\n" +
    "    for _, member in ipairs(members) do\n" +
    "      drop(member)\n" +
    "    end\n" +
    "    if old then\n" +
    "      redis.call('HDEL', cards, id)\n" +
    "    end\n" +
    "    settleWhole(firstOf(members))\n" +
    "    if redis.call('HINCRBY', meta, 'size', -1) == 0 then\n" +
    "      redis.call('DEL', meta)\n" +
    "    end\n" +
    "  else\n" +
    "    local before = tonumber(rank)\n" +
    "    local boosted = boost(before, tonumber(amount))\n" +
    "    local now = tonumber(boosted)\n" +
    "    for i, member in ipairs(members) do\n" +
    "      redis.call('ZADD', i == 1 and place or placeOf(member), boosted, member)\n" +
    "      settle(member, now, false, before)\n" +
    "    end\n" +
    "    settleWhole(firstOf(members), now, false, before)\n" +
    "    reply = string.format('%.17g', scoreOf(now))\n" +
    "    if request then\n" +
    "      redis.call('SET', request, asked .. reply, 'PX', REMEMBERED_MS)\n" +
    "    end\n" +
    "  end\n" +
    "  replies[#replies + 1] = reply\n" +
    "end\n" +
    "return replies\n",
} as const);

export const bookComplete = new Script({
  name: "book.complete",
  isReadOnly: true,
  keys: ["directory","cards","firstBlock","tops","absent"],
  args: ["halfLifeMs","limit","afterRank","afterMember","place","prefix"],
  restArg: "others",
  source: "#!lua flags=no-writes\n" +
    "-- Finds the best entries whose words the tokens begin, each token a word of its own.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   directory    see book.apply.lua\n" +
    "--   cards        see book.apply.lua\n" +
    "--   firstBlock   see book.apply.lua\n" +
    "--   tops         see book.apply.lua\n" +
    "--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   as for book.apply.lua\n" +
    "--   limit        the most entries\n" +
    "--   afterRank    the rank of the last one of the page before, or nothing\n" +
    "--   afterMember  its member\n" +
    "--   place        where an earlier call stopped, or nothing\n" +
    "--   prefix       the first token, no other is longer; empty: all entries have it, if it is the only one\n" +
    "--   others...    the other tokens\n" +
    "-- RETURNS\n" +
    "--   an array with the member by which each entry was found, and its rank behind it, the best first. Alone if no entry has a card,\n" +
    "--   there is no half-life, and nothing is left to do. Else behind it: an array with the card of each or an empty string, or empty if\n" +
    "--   none has one; how many half-lives the server's clock counts, 0 without; and where to go on, because the work of one call\n" +
    "--   is bounded: nothing if all is found, the rank and the member behind which to look, or the place\n" +
    "local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])\n" +
    "local afterRank, afterMember, place, prefix = ARGV[3], ARGV[4], ARGV[5], ARGV[6]\n" +
    "local others = ARGV\n" +
    "\n" +
    "-- Most calls end here: a heavy prefix of a book of handles. So nothing is prepared before.\n" +
    "local find = string.find\n" +
    "if not others[7] and afterRank == '' and halfLifeMs == 0 then\n" +
    "  local top = redis.call('ZRANGE', tops .. prefix, 0, limit - 1, 'WITHSCORES')\n" +
    "  if #top == 2 * limit and not find(table.concat(top), '\\1', 1, true) then\n" +
    "    return { top }\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server. Numbers are given to\n" +
    "-- commands as strings, since it takes Lua longer to write one than Redis to read it.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "-- Whether a text comes before another one, where both are the same in front of a byte, by default the first.\n" +
    "local function isBefore(a, b, at)\n" +
    "  at = at or 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    -- Equal names differ in their keys only, behind dozens of bytes.\n" +
    "    at = at + (at > 2 and sub(a, at, at + 15) == sub(b, at, at + 15) and 16 or 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best first: ranks are negated scores, and members of one score stand in the order of their bytes.\n" +
    "local function precedes(a, b)\n" +
    "  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)\n" +
    "end\n" +
    "\n" +
    "-- Where the code point ends that begins at a byte.\n" +
    "local function endOf(text, at)\n" +
    "  local first = byte(text, at)\n" +
    "  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)\n" +
    "end\n" +
    "\n" +
    "-- An entry of the directory is where a block begins, NUL, and its number.\n" +
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', '0', '1')[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- A text as a pattern that only it matches.\n" +
    "local function literal(text)\n" +
    "  return find(text, '[%*%?%[%\\\\]') and string.gsub(text, '[%*%?%[%\\\\]', '\\\\%0') or text\n" +
    "end\n" +
    "\n" +
    "-- Members and ranks in a flat list as members with their ranks, the best first.\n" +
    "local function inOrder(list)\n" +
    "  local found, isSorted = {}, true\n" +
    "  for i = 1, #list, 2 do\n" +
    "    local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    isSorted = isSorted and (i == 1 or precedes(found[#found], one))\n" +
    "    found[#found + 1] = one\n" +
    "  end\n" +
    "  if not isSorted then\n" +
    "    table.sort(found, precedes)\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The members of a block or top set that match a pattern, the best first. The server looks through them: a third of what it costs to\n" +
    "-- bring all of a block into the script. COUNT is more than there are, so one call is all, and a set in a list comes in its order.\n" +
    "local function matching(key, pattern)\n" +
    "  return inOrder(redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2])\n" +
    "end\n" +
    "\n" +
    "-- Whether a block begins within a prefix, and not where it begins.\n" +
    "local function isWithin(entry, part)\n" +
    "  return entry and sub(entry, 1, #part) == part and byte(entry, #part + 1) ~= 0\n" +
    "end\n" +
    "\n" +
    "-- The blocks that may have members with a light prefix; nothing of a heavy one.\n" +
    "local function lightPlacesOf(prefix)\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, '(' .. prefix .. '\\255', '-', 'LIMIT', '0', '2')\n" +
    "  if isWithin(entries[2], prefix) then\n" +
    "    return nil\n" +
    "  elseif not entries[1] then\n" +
    "    return { firstBlock }\n" +
    "  end\n" +
    "  return { keyOf(entries[1]), isWithin(entries[1], prefix) and keyOf(entries[2]) or nil }\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one byte longer, that are heavy, and the blocks that hold anything else of it. Bytes\n" +
    "-- and not code points, so that no alphabet gives a prefix more than a few dozen parts: of Han there are thousands.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks. The last part comes first: of the two last blocks that begin in front of a place, both tell\n" +
    "-- whether the part is heavy, and the last one is where it ends.\n" +
    "local function partsOf(prefix)\n" +
    "  local found, children, above, bound = {}, {}, nil, prefix .. '\\255'\n" +
    "  repeat\n" +
    "    local entries, at = redis.call('ZREVRANGEBYLEX', directory, '(' .. bound, '-', 'LIMIT', '0', '3'), 1\n" +
    "    if not entries[1] then\n" +
    "      return { firstBlock }, {}\n" +
    "    end\n" +
    "    bound = nil\n" +
    "    while not bound do\n" +
    "      local entry = entries[at]\n" +
    "      if not isWithin(entry, prefix) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "        return found, children\n" +
    "      end\n" +
    "      local part = sub(entry, 1, #prefix + 1)\n" +
    "      local isHeavy = isWithin(entry, part) and isWithin(entries[at + 1], part)\n" +
    "      -- The block in which a heavy part ends may go on behind it; not if another one is next to it, as b is to a.\n" +
    "      if not (isHeavy and above and byte(above, -1) == byte(part, -1) + 1) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "      end\n" +
    "      above = isHeavy and part\n" +
    "      if isHeavy then\n" +
    "        children[#children + 1], bound = part, part\n" +
    "      elseif at == 2 then\n" +
    "        bound = entry\n" +
    "      end\n" +
    "      at = at + 1\n" +
    "    end\n" +
    "  until false\n" +
    "end\n" +
    "-- The best members that have a prefix, exactly.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "-- Adds the best of a sorted set that have the prefix and come behind a member, up to a number. `seen` may be nil.\n" +
    "local function take(key, prefix, most, after, into, seen)\n" +
    "  local left = most\n" +
    "  for _, one in ipairs(matching(key, literal(prefix) .. '*')) do\n" +
    "    if left == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    if not (seen and seen[one.member]) and (not after or precedes(after, one)) then\n" +
    "      into[#into + 1], left = one, left - 1\n" +
    "      if seen then\n" +
    "        seen[one.member] = true\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best of a top set, up to a number; nothing of one that is not there.\n" +
    "local function bestOf(top, most)\n" +
    "  local list, found = redis.call('ZRANGE', top, '0', most - 1, 'WITHSCORES'), {}\n" +
    "  for i = 1, #list, 2 do\n" +
    "    found[#found + 1] = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "local ranked\n" +
    "\n" +
    "-- The best of two lists that are in the order of rank.\n" +
    "local function merge(a, b, most)\n" +
    "  local found, i, j = {}, 1, 1\n" +
    "  while #found < most and (a[i] or b[j]) do\n" +
    "    if not b[j] or a[i] and precedes(a[i], b[j]) then\n" +
    "      found[#found + 1], i = a[i], i + 1\n" +
    "    else\n" +
    "      found[#found + 1], j = b[j], j + 1\n" +
    "    end\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- As `ranked`, of a prefix whose top set does not reach, or that has none.\n" +
    "local function expand(prefix, most, after)\n" +
    "  local places, children = partsOf(prefix)\n" +
    "  if #children == 0 and #places < 3 then\n" +
    "    local found, others = {}, {}\n" +
    "    take(places[1], prefix, most, after, found)\n" +
    "    if places[2] then\n" +
    "      take(places[2], prefix, most, after, others)\n" +
    "    end\n" +
    "    return #others > 0 and merge(found, others, most) or found\n" +
    "  end\n" +
    "  local found, seen, lasts = {}, {}, {}\n" +
    "  if children[#children] == '\\3' then\n" +
    "    -- All entries are asked for, and all have other members.\n" +
    "    children[#children] = nil\n" +
    "  end\n" +
    "  for _, key in ipairs(places) do\n" +
    "    take(key, prefix, most, after, found, seen)\n" +
    "  end\n" +
    "  for i, child in ipairs(children) do\n" +
    "    local top = tops .. child\n" +
    "    if after then\n" +
    "      take(top, child, most, after, found, seen)\n" +
    "      local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')\n" +
    "      lasts[i] = last[1] and { member = last[1], rank = tonumber(last[2]) }\n" +
    "    else\n" +
    "      -- Few of most parts are among the best of all.\n" +
    "      for _, one in ipairs(bestOf(top, math.ceil(most / 4))) do\n" +
    "        found[#found + 1] = not seen[one.member] and one or nil\n" +
    "        seen[one.member], lasts[i] = true, one\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  table.sort(found, precedes)\n" +
    "  local worst = found[most]\n" +
    "  for i, child in ipairs(children) do\n" +
    "    -- It may have more that belongs here than its top set tells. There is no set where the last member has gone, and its block will.\n" +
    "    if lasts[i] and (not worst or precedes(lasts[i], worst)) then\n" +
    "      for _, one in ipairs(ranked(child, most, after)) do\n" +
    "        if not seen[one.member] then\n" +
    "          seen[one.member] = true\n" +
    "          found[#found + 1] = one\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  table.sort(found, precedes)\n" +
    "  for i = #found, most + 1, -1 do\n" +
    "    found[i] = nil\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The best members with a prefix, in the order of rank, behind a member if one is given. Without a prefix, some are left out: those for\n" +
    "-- two words, and others but the first of an entry.\n" +
    "function ranked(prefix, most, after)\n" +
    "  local found, top = {}, tops .. prefix\n" +
    "  if after then\n" +
    "    take(top, prefix, most, after, found)\n" +
    "  else\n" +
    "    found = bestOf(top, most)\n" +
    "  end\n" +
    "  return #found == most and found or expand(prefix, most, after)\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0, and any other one a negative rank: log2 is -1074 or\n" +
    "-- more. `score.ts` does it likewise.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS, OFFSET = 1000, 1100\n" +
    "local LARGEST = 1.7976931348623157e308\n" +
    "local halfLives = 0\n" +
    "if halfLifeMs > 0 then\n" +
    "  local time = redis.call('TIME')\n" +
    "  halfLives = (time[1] * 1000 + time[2] / 1000) / halfLifeMs\n" +
    "end\n" +
    "\n" +
    "local function log2(value)\n" +
    "  return math.log(value) / math.log(2)\n" +
    "end\n" +
    "\n" +
    "local function rankOf(score)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return score == 0 and '0' or string.format('%.17g', -score)\n" +
    "  end\n" +
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives + OFFSET))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or math.min(LARGEST, 2 ^ (-rank / UNITS - OFFSET - halfLives))\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "-- The forms of an entry, and which of them fit the tokens of a query. `forms.ts` makes the same ones.\n" +
    "-- Expects: book.places.part.lua before it, cards.\n" +
    "\n" +
    "local function begins(text, with)\n" +
    "  return sub(text, 1, #with) == with\n" +
    "end\n" +
    "\n" +
    "-- The form of a member. `ann ann` is all of its member, as a handle is: it has one form, which is its key.\n" +
    "local function formIn(member)\n" +
    "  return sub(member, 1, (find(member, '\\1', 1, true) or 0) - 1)\n" +
    "end\n" +
    "\n" +
    "-- The words of a form, in its order.\n" +
    "local function wordsIn(form)\n" +
    "  local words = {}\n" +
    "  for word in string.gmatch(byte(form, 1) == 3 and sub(form, (find(form, ' ', 1, true))) or form, '[^ ]+') do\n" +
    "    words[#words + 1] = word\n" +
    "  end\n" +
    "  return words\n" +
    "end\n" +
    "\n" +
    "-- The first code points of two texts in turn, up to the third; a text that has ended gives `ended`, or ends all.\n" +
    "local function inTurn(a, b, ended)\n" +
    "  local turns, atA, atB = {}, 1, 1\n" +
    "  for _ = 1, 3 do\n" +
    "    local toA, toB = atA <= #a and endOf(a, atA), atB <= #b and endOf(b, atB)\n" +
    "    turns[#turns + 1] = toA and sub(a, atA, toA) or ended\n" +
    "    if not ended and not (toA and toB) then\n" +
    "      break\n" +
    "    end\n" +
    "    turns[#turns + 1] = toB and sub(b, atB, toB) or ended\n" +
    "    atA, atB = toA and toA + 1 or atA, toB and toB + 1 or atB\n" +
    "  end\n" +
    "  return table.concat(turns)\n" +
    "end\n" +
    "\n" +
    "-- All forms of a name that are of one kind with one of them.\n" +
    "local function formsLike(form)\n" +
    "  local words, forms = wordsIn(form), {}\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    local space = 0\n" +
    "    while space do\n" +
    "      forms[#forms + 1] = space == 0 and form or sub(form, space + 1) .. ' ' .. sub(form, 1, space - 1)\n" +
    "      space = find(form, ' ', space + 1, true)\n" +
    "    end\n" +
    "    return forms\n" +
    "  end\n" +
    "  table.sort(words, isBefore)\n" +
    "  for i = 1, #words do\n" +
    "    for j = i + 1, #words do\n" +
    "      local all = { words[i], words[j] }\n" +
    "      for k = 1, #words do\n" +
    "        all[#all + 1] = k ~= i and k ~= j and words[k] or nil\n" +
    "      end\n" +
    "      forms[#forms + 1] = '\\3' .. inTurn(words[i], words[j], '\\4') .. ' ' .. table.concat(all, ' ')\n" +
    "    end\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Forms of the entry that a member belongs to, after `readCards`: all, or those like that of the member.\n" +
    "local function formsOfEntry(one)\n" +
    "  if not one.separator then\n" +
    "    return { one.member }\n" +
    "  elseif not one.card then\n" +
    "    return formsLike(sub(one.member, 1, one.separator - 1))\n" +
    "  end\n" +
    "  local forms = {}\n" +
    "  for form in string.gmatch(sub(one.card, 1, find(one.card, '\\0', 1, true) - 1), '[^\\1]+') do\n" +
    "    forms[#forms + 1] = form\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Gives the tokens from `at` on words from `first` on, each its own.\n" +
    "local function assign(words, first, tokens, at)\n" +
    "  local token = tokens[at]\n" +
    "  for i = first, token and #words or 0 do\n" +
    "    local word = words[i]\n" +
    "    if begins(word, token) then\n" +
    "      words[i] = ''\n" +
    "      if assign(words, first, tokens, at + 1) then\n" +
    "        return true\n" +
    "      end\n" +
    "      words[i] = word\n" +
    "    end\n" +
    "  end\n" +
    "  return not token\n" +
    "end\n" +
    "\n" +
    "-- Whether the first token begins a turned form, and each other one a word of its own behind the first.\n" +
    "local function fitsTurned(form, tokens)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "    and begins(form, tokens[1])\n" +
    "    and (not tokens[2] or assign(wordsIn(form), 2, tokens, 2))\n" +
    "end\n" +
    "\n" +
    "-- Whether the first two tokens begin the two words of a form for two, in any order, and each other one a word of its own.\n" +
    "local function fitsPair(form, tokens)\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    return false\n" +
    "  end\n" +
    "  local words = wordsIn(form)\n" +
    "  for i = 1, 2 do\n" +
    "    if begins(words[i], tokens[1]) and begins(words[3 - i], tokens[2]) and assign(words, 3, tokens, 3) then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "-- Adds to members what is known of their entries.\n" +
    "local function readCards(found)\n" +
    "  local ids = {}\n" +
    "  for _, one in ipairs(found) do\n" +
    "    one.separator = find(one.member, '\\1', 1, true)\n" +
    "    if one.separator then\n" +
    "      ids[#ids + 1] = sub(one.member, one.separator + 1)\n" +
    "      one.at = #ids\n" +
    "    end\n" +
    "  end\n" +
    "  -- As many as a call can take at once.\n" +
    "  for from = 1, #ids, 4000 do\n" +
    "    local known = redis.call('HMGET', cards, unpack(ids, from, math.min(from + 3999, #ids)))\n" +
    "    for _, one in ipairs(found) do\n" +
    "      if one.at and one.at >= from and one.at < from + 4000 then\n" +
    "        one.card = known[one.at - from + 1]\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Whether no other member of its entry that fits stands before a member.\n" +
    "local function isFirst(one, fit)\n" +
    "  local id = one.separator and sub(one.member, one.separator)\n" +
    "  for _, form in ipairs(id and formsOfEntry(one) or {}) do\n" +
    "    if fit(form) and isBefore(form .. id, one.member) then\n" +
    "      return false\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "-- Whether a form is not one for two words.\n" +
    "local function isTurned(form)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "end\n" +
    "-- What is told of the members found: each entry once, by the first member of it that fits.\n" +
    "-- Expects: book.forms.part.lua and book.score.part.lua before it.\n" +
    "local replies, told, hasCards, known = {}, {}, false, {}\n" +
    "\n" +
    "-- Tells of a member unless its entry was told of, and returns whether it did. All members of an entry have one rank: in the order of rank, only an entry that\n" +
    "-- has the rank of the cursor can have been told of on the page before.\n" +
    "local function tell(one, fit, cursor)\n" +
    "  local id = one.separator and sub(one.member, one.separator + 1) or one.member\n" +
    "  if known[id] or cursor and cursor.rank == one.rank and not isFirst(one, fit) then\n" +
    "    return false\n" +
    "  end\n" +
    "  known[id] = true\n" +
    "  told[#told + 1], hasCards = one.card or '', hasCards or one.card\n" +
    "  replies[#replies + 1] = one.member\n" +
    "  replies[#replies + 1] = one.text\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local function replyWith(...)\n" +
    "  return { replies, hasCards and told or {}, string.format('%.17g', halfLives), ... }\n" +
    "end\n" +
    "-- A look through the blocks of a prefix.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "-- How many blocks a call may look through, about 7 µs each. Who needs more goes on in another call.\n" +
    "local looked, mostLooked = 0, 200\n" +
    "\n" +
    "local function startOf(entry)\n" +
    "  return sub(entry, 1, find(entry, '\\0', 1, true) - 1)\n" +
    "end\n" +
    "\n" +
    "-- Calls `visit` with the members that begin with `head` and match a pattern, in a list for each block, from a place on. Returns\n" +
    "-- nothing, or the place where to go on; ends early if `visit` returns true.\n" +
    "local function scan(head, pattern, place, visit)\n" +
    "  local last = '(' .. head .. '\\255'\n" +
    "  local key, entry = placeOf(place)\n" +
    "  local ahead, at = {}, 1\n" +
    "  while key do\n" +
    "    looked = looked + 1\n" +
    "    if visit(matching(key, pattern)) then\n" +
    "      return nil\n" +
    "    end\n" +
    "    if entry and not ahead[at] then\n" +
    "      ahead, at = redis.call('ZRANGEBYLEX', directory, '(' .. entry, last, 'LIMIT', '0', '16'), 1\n" +
    "    end\n" +
    "    entry, at = ahead[at], at + 1\n" +
    "    key = entry and keyOf(entry)\n" +
    "    if key and looked >= mostLooked then\n" +
    "      return startOf(entry)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local tokens = { unpack(others, 6) }\n" +
    "local cursor = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank) } or nil\n" +
    "local function fit(form)\n" +
    "  return (tokens[2] and fitsPair or fitsTurned)(form, tokens)\n" +
    "end\n" +
    "\n" +
    "-- A heap of what stands in the order of rank: `{ size = 0 }` when it is empty.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "local function push(heap, one)\n" +
    "  local at = heap.size + 1\n" +
    "  heap.size = at\n" +
    "  while at > 1 do\n" +
    "    local above = math.floor(at / 2)\n" +
    "    if not precedes(one, heap[above]) then\n" +
    "      break\n" +
    "    end\n" +
    "    heap[at], at = heap[above], above\n" +
    "  end\n" +
    "  heap[at] = one\n" +
    "end\n" +
    "\n" +
    "local function pop(heap)\n" +
    "  local size = heap.size\n" +
    "  local least, one = heap[1], heap[size]\n" +
    "  size = size - 1\n" +
    "  heap[size + 1], heap.size = nil, size\n" +
    "  local at, below = 1, 2\n" +
    "  while below <= size do\n" +
    "    if below < size and precedes(heap[below + 1], heap[below]) then\n" +
    "      below = below + 1\n" +
    "    end\n" +
    "    if not precedes(heap[below], one) then\n" +
    "      break\n" +
    "    end\n" +
    "    heap[at], at, below = heap[below], below, 2 * below\n" +
    "  end\n" +
    "  if size > 0 then\n" +
    "    heap[at] = one\n" +
    "  end\n" +
    "  return least\n" +
    "end\n" +
    "-- The best members that fit the tokens. The tree of top sets is walked, and always that part looked into which may hold what\n" +
    "-- comes next. Where all that begins with the letters of the tokens fits, the first look tells all.\n" +
    "-- Expects: book.heap.part.lua, book.scan.part.lua, book.ranked.part.lua and book.tell.part.lua before it, fit, cursor, limit.\n" +
    "\n" +
    "-- A walk that has looked into so many parts is given up.\n" +
    "local MOST_WALKED = 150\n" +
    "\n" +
    "-- Tells of them, up to the limit, and returns whether it came to an end, and the last one told. A query begins with `head` and matches\n" +
    "-- `tail` behind it. What was told is all there is up to the last one; so who can go on behind it gives up only then.\n" +
    "local function walk(queries, canGoOn)\n" +
    "  local heap, seen, walked, final = { size = 0 }, {}, 0, nil\n" +
    "  local giveUpAt = canGoOn and math.huge or MOST_WALKED\n" +
    "\n" +
    "  -- A prefix that reaches into the words has some of the tail in itself.\n" +
    "  local function lookInto(key, prefix, tail)\n" +
    "    walked = walked + 1\n" +
    "    local pattern = literal(prefix) .. (find(prefix, ' ', 1, true) and '*' or tail)\n" +
    "    for _, one in ipairs(matching(key, pattern)) do\n" +
    "      if not seen[one.member] and (not cursor or precedes(cursor, one)) and fit(formIn(one.member)) then\n" +
    "        seen[one.member] = true\n" +
    "        push(heap, one)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "\n" +
    "  -- What a prefix has in its top set; and behind the last one there, that there may be more.\n" +
    "  local function open(prefix, tail)\n" +
    "    local top = tops .. prefix\n" +
    "    local last = redis.call('ZRANGE', top, '-1', '-1', 'WITHSCORES')\n" +
    "    if last[1] then\n" +
    "      lookInto(top, prefix, tail)\n" +
    "      push(heap, { member = last[1], rank = tonumber(last[2]), prefix = prefix, tail = tail })\n" +
    "    else\n" +
    "      for _, key in ipairs((partsOf(prefix))) do\n" +
    "        lookInto(key, prefix, tail)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "\n" +
    "  for _, query in ipairs(queries) do\n" +
    "    open(query.head, query.tail)\n" +
    "  end\n" +
    "  while heap.size > 0 and #told < limit do\n" +
    "    local one = pop(heap)\n" +
    "    if not one.prefix then\n" +
    "      readCards({ one })\n" +
    "      final = tell(one, fit, cursor) and one or final\n" +
    "      giveUpAt = final and math.min(giveUpAt, walked + MOST_WALKED) or giveUpAt\n" +
    "    elseif walked >= giveUpAt then\n" +
    "      return false, final\n" +
    "    else\n" +
    "      local places, children = partsOf(one.prefix)\n" +
    "      for _, key in ipairs(places) do\n" +
    "        lookInto(key, one.prefix, one.tail)\n" +
    "      end\n" +
    "      for _, child in ipairs(children) do\n" +
    "        if child ~= '\\3' then\n" +
    "          open(child, one.tail)\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local function tellAll(found)\n" +
    "  readCards(found)\n" +
    "  for _, one in ipairs(found) do\n" +
    "    if #told == limit then\n" +
    "      break\n" +
    "    elseif isTurned(one.member) or tokens[2] then\n" +
    "      tell(one, fit, cursor)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if not tokens[2] then\n" +
    "  local found = cursor and {} or bestOf(tops .. prefix, limit)\n" +
    "  tellAll(found)\n" +
    "  if #told == limit then\n" +
    "    return replyWith({})\n" +
    "  elseif not found[1] and redis.call('EXISTS', tops .. prefix) == 0 then\n" +
    "    -- A light prefix, all of which is in two blocks.\n" +
    "    local MOST_LIGHT = 1000\n" +
    "    tellAll(expand(prefix, MOST_LIGHT, cursor))\n" +
    "    return replyWith({})\n" +
    "  end\n" +
    "  local isAll, last = walk({ { head = prefix, tail = '*' } }, true)\n" +
    "  return replyWith(isAll and {} or { last.text, last.member })\n" +
    "end\n" +
    "\n" +
    "-- Either token may belong to the lesser word.\n" +
    "local queries = {}\n" +
    "for _, pair in ipairs({ { tokens[1], tokens[2] }, { tokens[2], tokens[1] } }) do\n" +
    "  local tail = '* ' .. literal(pair[1]) .. '* ' .. literal(pair[2]) .. '*'\n" +
    "  queries[#queries + 1] = { head = '\\3' .. inTurn(pair[1], pair[2]), tail = tail }\n" +
    "end\n" +
    "if place == '' then\n" +
    "  if walk(queries) then\n" +
    "    return replyWith({})\n" +
    "  end\n" +
    "  replies, told, hasCards, known = {}, {}, false, {}\n" +
    "end\n" +
    "\n" +
    "local found, rest = {}, nil\n" +
    "for i = place ~= '' and tonumber(sub(place, 1, 1)) or 1, #queries do\n" +
    "  local query = queries[i]\n" +
    "  local from = place ~= '' and sub(place, 2) or query.head\n" +
    "  place = ''\n" +
    "  rest = scan(query.head, literal(query.head) .. query.tail, from, function(list)\n" +
    "    for _, one in ipairs(list) do\n" +
    "      if (not cursor or precedes(cursor, one)) and fit(formIn(one.member)) then\n" +
    "        found[#found + 1] = one\n" +
    "      end\n" +
    "    end\n" +
    "  end)\n" +
    "  if rest then\n" +
    "    rest = { i .. rest }\n" +
    "    break\n" +
    "  end\n" +
    "end\n" +
    "table.sort(found, precedes)\n" +
    "tellAll(found)\n" +
    "return replyWith(rest or {})\n",
} as const);

export const bookFuzzy = new Script({
  name: "book.fuzzy",
  isReadOnly: true,
  keys: ["directory","cards","firstBlock","tops","marks","absent"],
  args: ["halfLifeMs","limit","afterRank","afterMember","isOfLast"],
  restArg: "tokens",
  source: "#!lua flags=no-writes\n" +
    "-- Finds the best entries whose words the tokens begin after one edit in one of them, and not without. An edit puts in, takes out or\n" +
    "-- exchanges a code point, or swaps two. A single token may also lack the space between two words.\n" +
    "--\n" +
    "-- What takes out or exchanges the last one finds all that begins with the token without it, which is much and mostly not meant: so it\n" +
    "-- comes behind all else, and only of a single token.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   directory    see book.apply.lua\n" +
    "--   cards        see book.apply.lua\n" +
    "--   firstBlock   see book.apply.lua\n" +
    "--   tops         see book.apply.lua\n" +
    "--   marks        see book.apply.lua\n" +
    "--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   as for book.apply.lua\n" +
    "--   limit        the most entries\n" +
    "--   afterRank    the rank of the last one of the page before, or where an earlier call stopped, or nothing\n" +
    "--   afterMember  its member\n" +
    "--   isOfLast     1 if that was looked at for an edit of the last code point, else 0\n" +
    "--   tokens...    at least one of three code points or more\n" +
    "-- RETURNS\n" +
    "--   an array with the member by which each entry was found, and its rank behind it, the best first; an array with the card of each\n" +
    "--   or an empty string, or empty if none has one; how many half-lives the server's clock counts, 0 without; how many of the\n" +
    "--   entries were found by other edits than of the last code point: they come first; and where to go on, because the work of one call\n" +
    "--   is bounded: nothing if all is found or there are as many as wanted, or isOfLast, afterRank and afterMember\n" +
    "local directory, cards, firstBlock, tops, marks, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])\n" +
    "local afterRank, afterMember, isOfLast = ARGV[3], ARGV[4], ARGV[5] == '1'\n" +
    "local tokens = { unpack(ARGV, 6) }\n" +
    "local find = string.find\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server. Numbers are given to\n" +
    "-- commands as strings, since it takes Lua longer to write one than Redis to read it.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "-- Whether a text comes before another one, where both are the same in front of a byte, by default the first.\n" +
    "local function isBefore(a, b, at)\n" +
    "  at = at or 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    -- Equal names differ in their keys only, behind dozens of bytes.\n" +
    "    at = at + (at > 2 and sub(a, at, at + 15) == sub(b, at, at + 15) and 16 or 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best first: ranks are negated scores, and members of one score stand in the order of their bytes.\n" +
    "local function precedes(a, b)\n" +
    "  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)\n" +
    "end\n" +
    "\n" +
    "-- Where the code point ends that begins at a byte.\n" +
    "local function endOf(text, at)\n" +
    "  local first = byte(text, at)\n" +
    "  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)\n" +
    "end\n" +
    "\n" +
    "-- An entry of the directory is where a block begins, NUL, and its number.\n" +
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', '0', '1')[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- A text as a pattern that only it matches.\n" +
    "local function literal(text)\n" +
    "  return find(text, '[%*%?%[%\\\\]') and string.gsub(text, '[%*%?%[%\\\\]', '\\\\%0') or text\n" +
    "end\n" +
    "\n" +
    "-- Members and ranks in a flat list as members with their ranks, the best first.\n" +
    "local function inOrder(list)\n" +
    "  local found, isSorted = {}, true\n" +
    "  for i = 1, #list, 2 do\n" +
    "    local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    isSorted = isSorted and (i == 1 or precedes(found[#found], one))\n" +
    "    found[#found + 1] = one\n" +
    "  end\n" +
    "  if not isSorted then\n" +
    "    table.sort(found, precedes)\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The members of a block or top set that match a pattern, the best first. The server looks through them: a third of what it costs to\n" +
    "-- bring all of a block into the script. COUNT is more than there are, so one call is all, and a set in a list comes in its order.\n" +
    "local function matching(key, pattern)\n" +
    "  return inOrder(redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2])\n" +
    "end\n" +
    "\n" +
    "-- Whether a block begins within a prefix, and not where it begins.\n" +
    "local function isWithin(entry, part)\n" +
    "  return entry and sub(entry, 1, #part) == part and byte(entry, #part + 1) ~= 0\n" +
    "end\n" +
    "\n" +
    "-- The blocks that may have members with a light prefix; nothing of a heavy one.\n" +
    "local function lightPlacesOf(prefix)\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, '(' .. prefix .. '\\255', '-', 'LIMIT', '0', '2')\n" +
    "  if isWithin(entries[2], prefix) then\n" +
    "    return nil\n" +
    "  elseif not entries[1] then\n" +
    "    return { firstBlock }\n" +
    "  end\n" +
    "  return { keyOf(entries[1]), isWithin(entries[1], prefix) and keyOf(entries[2]) or nil }\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one byte longer, that are heavy, and the blocks that hold anything else of it. Bytes\n" +
    "-- and not code points, so that no alphabet gives a prefix more than a few dozen parts: of Han there are thousands.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks. The last part comes first: of the two last blocks that begin in front of a place, both tell\n" +
    "-- whether the part is heavy, and the last one is where it ends.\n" +
    "local function partsOf(prefix)\n" +
    "  local found, children, above, bound = {}, {}, nil, prefix .. '\\255'\n" +
    "  repeat\n" +
    "    local entries, at = redis.call('ZREVRANGEBYLEX', directory, '(' .. bound, '-', 'LIMIT', '0', '3'), 1\n" +
    "    if not entries[1] then\n" +
    "      return { firstBlock }, {}\n" +
    "    end\n" +
    "    bound = nil\n" +
    "    while not bound do\n" +
    "      local entry = entries[at]\n" +
    "      if not isWithin(entry, prefix) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "        return found, children\n" +
    "      end\n" +
    "      local part = sub(entry, 1, #prefix + 1)\n" +
    "      local isHeavy = isWithin(entry, part) and isWithin(entries[at + 1], part)\n" +
    "      -- The block in which a heavy part ends may go on behind it; not if another one is next to it, as b is to a.\n" +
    "      if not (isHeavy and above and byte(above, -1) == byte(part, -1) + 1) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "      end\n" +
    "      above = isHeavy and part\n" +
    "      if isHeavy then\n" +
    "        children[#children + 1], bound = part, part\n" +
    "      elseif at == 2 then\n" +
    "        bound = entry\n" +
    "      end\n" +
    "      at = at + 1\n" +
    "    end\n" +
    "  until false\n" +
    "end\n" +
    "-- A heap of what stands in the order of rank: `{ size = 0 }` when it is empty.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "local function push(heap, one)\n" +
    "  local at = heap.size + 1\n" +
    "  heap.size = at\n" +
    "  while at > 1 do\n" +
    "    local above = math.floor(at / 2)\n" +
    "    if not precedes(one, heap[above]) then\n" +
    "      break\n" +
    "    end\n" +
    "    heap[at], at = heap[above], above\n" +
    "  end\n" +
    "  heap[at] = one\n" +
    "end\n" +
    "\n" +
    "local function pop(heap)\n" +
    "  local size = heap.size\n" +
    "  local least, one = heap[1], heap[size]\n" +
    "  size = size - 1\n" +
    "  heap[size + 1], heap.size = nil, size\n" +
    "  local at, below = 1, 2\n" +
    "  while below <= size do\n" +
    "    if below < size and precedes(heap[below + 1], heap[below]) then\n" +
    "      below = below + 1\n" +
    "    end\n" +
    "    if not precedes(heap[below], one) then\n" +
    "      break\n" +
    "    end\n" +
    "    heap[at], at, below = heap[below], below, 2 * below\n" +
    "  end\n" +
    "  if size > 0 then\n" +
    "    heap[at] = one\n" +
    "  end\n" +
    "  return least\n" +
    "end\n" +
    "-- Members in the order of rank, behind one if it is given: those of lists, and those of prefixes, each part of which is read when its turn\n" +
    "-- comes. Of a heavy prefix that is its top set, and behind the last one there what it consists of. So who stops early has paid for\n" +
    "-- little. Of what stands in front of the page the server hands over nothing.\n" +
    "-- Expects: book.places.part.lua and book.heap.part.lua before it.\n" +
    "\n" +
    "-- Of a top set so many are read first. What begins with `without` is left out, if it is given, and not read where it is a part of its own.\n" +
    "-- Returns functions: `addList` for members in the order of rank, `addPrefix`, and `nextBest`, which gives each member once and nothing\n" +
    "-- behind the last one.\n" +
    "local function newStream(most, after, without)\n" +
    "  local heap, last = { size = 0 }, after\n" +
    "\n" +
    "  local function isWanted(member, prefix)\n" +
    "    return sub(member, 1, #prefix) == prefix and not (without and sub(member, 1, #without) == without)\n" +
    "  end\n" +
    "\n" +
    "  -- Puts a list where its next member belongs, if it has one. A flat one is of members and ranks, and may have some that came before.\n" +
    "  local function pushList(list)\n" +
    "    local at = list.at\n" +
    "    if not list.flat then\n" +
    "      local one = list.ones[at]\n" +
    "      if one then\n" +
    "        list.member, list.rank = one.member, one.rank\n" +
    "        push(heap, list)\n" +
    "      end\n" +
    "      return\n" +
    "    end\n" +
    "    local flat, prefix = list.flat, list.prefix\n" +
    "    while flat[at] do\n" +
    "      if isWanted(flat[at], prefix) then\n" +
    "        list.member, list.rank, list.at = flat[at], tonumber(flat[at + 1]), at\n" +
    "        if not last or precedes(last, list) then\n" +
    "          push(heap, list)\n" +
    "          return\n" +
    "        end\n" +
    "      end\n" +
    "      at = at + 2\n" +
    "    end\n" +
    "  end\n" +
    "\n" +
    "  -- Those of the rank of the last one are among them.\n" +
    "  local function read(key, to)\n" +
    "    if last then\n" +
    "      return redis.call('ZRANGE', key, last.text, '+inf', 'BYSCORE', 'WITHSCORES')\n" +
    "    end\n" +
    "    return redis.call('ZRANGE', key, '0', to, 'WITHSCORES')\n" +
    "  end\n" +
    "\n" +
    "  local addPrefix\n" +
    "\n" +
    "  local function addParts(prefix)\n" +
    "    local places, children = partsOf(prefix)\n" +
    "    for _, key in ipairs(places) do\n" +
    "      pushList({ flat = read(key, '-1'), at = 1, prefix = prefix, member = '', rank = 0 })\n" +
    "    end\n" +
    "    for _, child in ipairs(children) do\n" +
    "      if not (without and sub(child, 1, #without) == without) then\n" +
    "        addPrefix(child)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "\n" +
    "  function addPrefix(prefix)\n" +
    "    local flat = read(tops .. prefix, most - 1)\n" +
    "    local floor = #flat\n" +
    "    if floor == 0 then\n" +
    "      -- It is light, or its top set does not reach as far.\n" +
    "      addParts(prefix)\n" +
    "      return\n" +
    "    end\n" +
    "    pushList({ flat = flat, at = 1, prefix = prefix, member = '', rank = 0 })\n" +
    "    push(heap, { member = flat[floor - 1], rank = tonumber(flat[floor]), parts = prefix })\n" +
    "  end\n" +
    "\n" +
    "  local function nextBest()\n" +
    "    while heap.size > 0 do\n" +
    "      local list = pop(heap)\n" +
    "      if list.parts then\n" +
    "        addParts(list.parts)\n" +
    "      else\n" +
    "        local at, flat, one = list.at, list.flat, nil\n" +
    "        if flat then\n" +
    "          one, list.at = { member = flat[at], rank = list.rank, text = flat[at + 1] }, at + 2\n" +
    "        else\n" +
    "          one, list.at = list.ones[at], at + 1\n" +
    "        end\n" +
    "        pushList(list)\n" +
    "        -- A block may belong to two parts, and a member to two lists: they come one behind the other.\n" +
    "        if not last or precedes(last, one) then\n" +
    "          last = one\n" +
    "          return one\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "\n" +
    "  return {\n" +
    "    addList = function(ones)\n" +
    "      if ones[1] then\n" +
    "        pushList({ ones = ones, at = 1, member = '', rank = 0 })\n" +
    "      end\n" +
    "    end,\n" +
    "    addPrefix = addPrefix,\n" +
    "    nextBest = nextBest,\n" +
    "  }\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0, and any other one a negative rank: log2 is -1074 or\n" +
    "-- more. `score.ts` does it likewise.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS, OFFSET = 1000, 1100\n" +
    "local LARGEST = 1.7976931348623157e308\n" +
    "local halfLives = 0\n" +
    "if halfLifeMs > 0 then\n" +
    "  local time = redis.call('TIME')\n" +
    "  halfLives = (time[1] * 1000 + time[2] / 1000) / halfLifeMs\n" +
    "end\n" +
    "\n" +
    "local function log2(value)\n" +
    "  return math.log(value) / math.log(2)\n" +
    "end\n" +
    "\n" +
    "local function rankOf(score)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return score == 0 and '0' or string.format('%.17g', -score)\n" +
    "  end\n" +
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives + OFFSET))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or math.min(LARGEST, 2 ^ (-rank / UNITS - OFFSET - halfLives))\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "-- The forms of an entry, and which of them fit the tokens of a query. `forms.ts` makes the same ones.\n" +
    "-- Expects: book.places.part.lua before it, cards.\n" +
    "\n" +
    "local function begins(text, with)\n" +
    "  return sub(text, 1, #with) == with\n" +
    "end\n" +
    "\n" +
    "-- The form of a member. `ann ann` is all of its member, as a handle is: it has one form, which is its key.\n" +
    "local function formIn(member)\n" +
    "  return sub(member, 1, (find(member, '\\1', 1, true) or 0) - 1)\n" +
    "end\n" +
    "\n" +
    "-- The words of a form, in its order.\n" +
    "local function wordsIn(form)\n" +
    "  local words = {}\n" +
    "  for word in string.gmatch(byte(form, 1) == 3 and sub(form, (find(form, ' ', 1, true))) or form, '[^ ]+') do\n" +
    "    words[#words + 1] = word\n" +
    "  end\n" +
    "  return words\n" +
    "end\n" +
    "\n" +
    "-- The first code points of two texts in turn, up to the third; a text that has ended gives `ended`, or ends all.\n" +
    "local function inTurn(a, b, ended)\n" +
    "  local turns, atA, atB = {}, 1, 1\n" +
    "  for _ = 1, 3 do\n" +
    "    local toA, toB = atA <= #a and endOf(a, atA), atB <= #b and endOf(b, atB)\n" +
    "    turns[#turns + 1] = toA and sub(a, atA, toA) or ended\n" +
    "    if not ended and not (toA and toB) then\n" +
    "      break\n" +
    "    end\n" +
    "    turns[#turns + 1] = toB and sub(b, atB, toB) or ended\n" +
    "    atA, atB = toA and toA + 1 or atA, toB and toB + 1 or atB\n" +
    "  end\n" +
    "  return table.concat(turns)\n" +
    "end\n" +
    "\n" +
    "-- All forms of a name that are of one kind with one of them.\n" +
    "local function formsLike(form)\n" +
    "  local words, forms = wordsIn(form), {}\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    local space = 0\n" +
    "    while space do\n" +
    "      forms[#forms + 1] = space == 0 and form or sub(form, space + 1) .. ' ' .. sub(form, 1, space - 1)\n" +
    "      space = find(form, ' ', space + 1, true)\n" +
    "    end\n" +
    "    return forms\n" +
    "  end\n" +
    "  table.sort(words, isBefore)\n" +
    "  for i = 1, #words do\n" +
    "    for j = i + 1, #words do\n" +
    "      local all = { words[i], words[j] }\n" +
    "      for k = 1, #words do\n" +
    "        all[#all + 1] = k ~= i and k ~= j and words[k] or nil\n" +
    "      end\n" +
    "      forms[#forms + 1] = '\\3' .. inTurn(words[i], words[j], '\\4') .. ' ' .. table.concat(all, ' ')\n" +
    "    end\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Forms of the entry that a member belongs to, after `readCards`: all, or those like that of the member.\n" +
    "local function formsOfEntry(one)\n" +
    "  if not one.separator then\n" +
    "    return { one.member }\n" +
    "  elseif not one.card then\n" +
    "    return formsLike(sub(one.member, 1, one.separator - 1))\n" +
    "  end\n" +
    "  local forms = {}\n" +
    "  for form in string.gmatch(sub(one.card, 1, find(one.card, '\\0', 1, true) - 1), '[^\\1]+') do\n" +
    "    forms[#forms + 1] = form\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Gives the tokens from `at` on words from `first` on, each its own.\n" +
    "local function assign(words, first, tokens, at)\n" +
    "  local token = tokens[at]\n" +
    "  for i = first, token and #words or 0 do\n" +
    "    local word = words[i]\n" +
    "    if begins(word, token) then\n" +
    "      words[i] = ''\n" +
    "      if assign(words, first, tokens, at + 1) then\n" +
    "        return true\n" +
    "      end\n" +
    "      words[i] = word\n" +
    "    end\n" +
    "  end\n" +
    "  return not token\n" +
    "end\n" +
    "\n" +
    "-- Whether the first token begins a turned form, and each other one a word of its own behind the first.\n" +
    "local function fitsTurned(form, tokens)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "    and begins(form, tokens[1])\n" +
    "    and (not tokens[2] or assign(wordsIn(form), 2, tokens, 2))\n" +
    "end\n" +
    "\n" +
    "-- Whether the first two tokens begin the two words of a form for two, in any order, and each other one a word of its own.\n" +
    "local function fitsPair(form, tokens)\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    return false\n" +
    "  end\n" +
    "  local words = wordsIn(form)\n" +
    "  for i = 1, 2 do\n" +
    "    if begins(words[i], tokens[1]) and begins(words[3 - i], tokens[2]) and assign(words, 3, tokens, 3) then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "-- Adds to members what is known of their entries.\n" +
    "local function readCards(found)\n" +
    "  local ids = {}\n" +
    "  for _, one in ipairs(found) do\n" +
    "    one.separator = find(one.member, '\\1', 1, true)\n" +
    "    if one.separator then\n" +
    "      ids[#ids + 1] = sub(one.member, one.separator + 1)\n" +
    "      one.at = #ids\n" +
    "    end\n" +
    "  end\n" +
    "  -- As many as a call can take at once.\n" +
    "  for from = 1, #ids, 4000 do\n" +
    "    local known = redis.call('HMGET', cards, unpack(ids, from, math.min(from + 3999, #ids)))\n" +
    "    for _, one in ipairs(found) do\n" +
    "      if one.at and one.at >= from and one.at < from + 4000 then\n" +
    "        one.card = known[one.at - from + 1]\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Whether no other member of its entry that fits stands before a member.\n" +
    "local function isFirst(one, fit)\n" +
    "  local id = one.separator and sub(one.member, one.separator)\n" +
    "  for _, form in ipairs(id and formsOfEntry(one) or {}) do\n" +
    "    if fit(form) and isBefore(form .. id, one.member) then\n" +
    "      return false\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "-- Whether a form is not one for two words.\n" +
    "local function isTurned(form)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "end\n" +
    "-- What is told of the members found: each entry once, by the first member of it that fits.\n" +
    "-- Expects: book.forms.part.lua and book.score.part.lua before it.\n" +
    "local replies, told, hasCards, known = {}, {}, false, {}\n" +
    "\n" +
    "-- Tells of a member unless its entry was told of, and returns whether it did. All members of an entry have one rank: in the order of rank, only an entry that\n" +
    "-- has the rank of the cursor can have been told of on the page before.\n" +
    "local function tell(one, fit, cursor)\n" +
    "  local id = one.separator and sub(one.member, one.separator + 1) or one.member\n" +
    "  if known[id] or cursor and cursor.rank == one.rank and not isFirst(one, fit) then\n" +
    "    return false\n" +
    "  end\n" +
    "  known[id] = true\n" +
    "  told[#told + 1], hasCards = one.card or '', hasCards or one.card\n" +
    "  replies[#replies + 1] = one.member\n" +
    "  replies[#replies + 1] = one.text\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local function replyWith(...)\n" +
    "  return { replies, hasCards and told or {}, string.format('%.17g', halfLives), ... }\n" +
    "end\n" +
    "-- A look through the blocks of a prefix.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "-- How many blocks a call may look through, about 7 µs each. Who needs more goes on in another call.\n" +
    "local looked, mostLooked = 0, 200\n" +
    "\n" +
    "local function startOf(entry)\n" +
    "  return sub(entry, 1, find(entry, '\\0', 1, true) - 1)\n" +
    "end\n" +
    "\n" +
    "-- Calls `visit` with the members that begin with `head` and match a pattern, in a list for each block, from a place on. Returns\n" +
    "-- nothing, or the place where to go on; ends early if `visit` returns true.\n" +
    "local function scan(head, pattern, place, visit)\n" +
    "  local last = '(' .. head .. '\\255'\n" +
    "  local key, entry = placeOf(place)\n" +
    "  local ahead, at = {}, 1\n" +
    "  while key do\n" +
    "    looked = looked + 1\n" +
    "    if visit(matching(key, pattern)) then\n" +
    "      return nil\n" +
    "    end\n" +
    "    if entry and not ahead[at] then\n" +
    "      ahead, at = redis.call('ZRANGEBYLEX', directory, '(' .. entry, last, 'LIMIT', '0', '16'), 1\n" +
    "    end\n" +
    "    entry, at = ahead[at], at + 1\n" +
    "    key = entry and keyOf(entry)\n" +
    "    if key and looked >= mostLooked then\n" +
    "      return startOf(entry)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- Marks: a bit for what each member begins with, up to the fifth and up to the sixth byte, in one text. A search with an edit asks for\n" +
    "-- hundreds of places where hardly anything is, and one command tells of many which needn't be looked for. A bit may be set for nothing, as\n" +
    "-- those of members that have gone are until there are new marks. In front are 256 bits for the bytes that the first six are of.\n" +
    "-- Expects: sub, byte, marks.\n" +
    "\n" +
    "-- Bytes that have marks.\n" +
    "local LENGTHS = { 5, 6 }\n" +
    "local ALPHABET = 256\n" +
    "\n" +
    "local function numberOf(a, b, c, d, e, f)\n" +
    "  local number = (((a * 131 + b) * 131 + c) * 131 + d) * 131 + e\n" +
    "  return f and number * 131 + f or number\n" +
    "end\n" +
    "\n" +
    "-- As a string, of a number and how many bits there are behind the alphabet.\n" +
    "local function bitOf(number, bits)\n" +
    "  return string.format('%d', ALPHABET + number % bits)\n" +
    "end\n" +
    "-- Members that begin with what one edit makes of a token. The order of bytes is walked as a tree: behind each beginning of the\n" +
    "-- token, what follows differs in one code point, so it is looked for behind each code point that follows there.\n" +
    "-- Expects: book.scan.part.lua, book.stream.part.lua and book.marks.part.lua before it.\n" +
    "\n" +
    "-- Shorter tokens are not edited: they would find too much.\n" +
    "local LEAST_POINTS = 3\n" +
    "-- Places, blocks and top sets that are looked at. Of what is looked for last, an error in the first letter, not all is found where a book\n" +
    "-- has hundreds of first letters with many names each, as a large one of Han has.\n" +
    "local MOST_EDITS = 1000\n" +
    "\n" +
    "-- A look at the directory takes a quarter of the time of one into a block.\n" +
    "local PLACE = 0.25\n" +
    "-- And to ask the marks for one takes less.\n" +
    "local ASKED = 0.1\n" +
    "\n" +
    "local bits = 8 * redis.call('STRLEN', marks) - ALPHABET\n" +
    "\n" +
    "-- Those of some texts with which a member may begin. Marks for up to so many bytes have been asked, by default none.\n" +
    "local function mayBegin(texts, known)\n" +
    "  for i = 1, bits > 0 and #LENGTHS or 0 do\n" +
    "    local length, found, asked, args = LENGTHS[i], {}, {}, {}\n" +
    "    for _, text in ipairs(texts) do\n" +
    "      if #text >= length and length > (known or 0) then\n" +
    "        local at = #args\n" +
    "        asked[#asked + 1], args[at + 1], args[at + 2] = text, 'GET', 'u1'\n" +
    "        args[at + 3] = bitOf(numberOf(byte(text, 1, length)), bits)\n" +
    "      else\n" +
    "        found[#found + 1] = text\n" +
    "      end\n" +
    "    end\n" +
    "    local isMarked = asked[1] and redis.call('BITFIELD_RO', marks, unpack(args))\n" +
    "    for j, text in ipairs(asked) do\n" +
    "      found[#found + 1] = isMarked[j] == 1 and text or nil\n" +
    "    end\n" +
    "    texts = found\n" +
    "  end\n" +
    "  return texts\n" +
    "end\n" +
    "\n" +
    "-- The bytes that names begin with, where all of them are ASCII.\n" +
    "local function readAlphabet()\n" +
    "  local alphabet, found = bits > 0 and redis.call('GETRANGE', marks, '0', ALPHABET / 8 - 1) or '', {}\n" +
    "  if find(alphabet, '[^%z]', 17) then\n" +
    "    return nil\n" +
    "  end\n" +
    "  for one = 32, alphabet ~= '' and 127 or 0 do\n" +
    "    if math.floor(byte(alphabet, math.floor(one / 8) + 1) / 2 ^ (7 - one % 8)) % 2 == 1 then\n" +
    "      found[#found + 1] = one\n" +
    "    end\n" +
    "  end\n" +
    "  return found[1] and found\n" +
    "end\n" +
    "\n" +
    "-- With which of the texts, each two texts with a byte of the alphabet between them, a member may begin.\n" +
    "local function mayBeginBetween(head, tails, alphabet)\n" +
    "  local args, texts, count = {}, {}, 0\n" +
    "  local factor = 131 ^ (LENGTHS[1] - #head - 1)\n" +
    "  for _, tail in ipairs(tails) do\n" +
    "    local base = numberOf(byte(head .. '\\0' .. tail, 1, LENGTHS[1]))\n" +
    "    for _, one in ipairs(alphabet) do\n" +
    "      args[count + 1], args[count + 2], args[count + 3] = 'GET', 'u1', bitOf(base + factor * one, bits)\n" +
    "      count = count + 3\n" +
    "    end\n" +
    "  end\n" +
    "  for i, isMarked in ipairs(redis.call('BITFIELD_RO', marks, unpack(args))) do\n" +
    "    if isMarked == 1 then\n" +
    "      local at = i - 1\n" +
    "      local one = at % #alphabet\n" +
    "      texts[#texts + 1] = head .. string.char(alphabet[one + 1]) .. tails[(at - one) / #alphabet + 1]\n" +
    "    end\n" +
    "  end\n" +
    "  return texts\n" +
    "end\n" +
    "\n" +
    "local function pointsOf(token)\n" +
    "  local points, at = {}, 1\n" +
    "  while at <= #token do\n" +
    "    local to = endOf(token, at)\n" +
    "    points[#points + 1] = sub(token, at, to)\n" +
    "    at = to + 1\n" +
    "  end\n" +
    "  return points\n" +
    "end\n" +
    "\n" +
    "-- Whether a text begins with what one edit makes of a token, and not with the token. The edit is where they differ first.\n" +
    "local function isEdited(text, token)\n" +
    "  local at = 1\n" +
    "  while at <= #token and byte(text, at) == byte(token, at) do\n" +
    "    at = at + 1\n" +
    "  end\n" +
    "  if at > #token then\n" +
    "    return false\n" +
    "  end\n" +
    "  -- The code point may have begun before.\n" +
    "  while byte(token, at) >= 0x80 and byte(token, at) < 0xC0 do\n" +
    "    at = at - 1\n" +
    "  end\n" +
    "  local rest, textRest = sub(token, at), sub(text, at)\n" +
    "  if textRest == '' then\n" +
    "    return false\n" +
    "  end\n" +
    "  local behind, textBehind = sub(rest, endOf(rest, 1) + 1), sub(textRest, endOf(textRest, 1) + 1)\n" +
    "  if begins(textBehind, rest) then\n" +
    "    return true\n" +
    "  elseif behind == '' then\n" +
    "    return false\n" +
    "  elseif begins(textBehind, behind) or begins(textRest, behind) then\n" +
    "    return true\n" +
    "  end\n" +
    "  local swapped = endOf(behind, 1)\n" +
    "  return begins(textRest, sub(behind, 1, swapped) .. sub(rest, 1, #rest - #behind) .. sub(behind, swapped + 1))\n" +
    "end\n" +
    "\n" +
    "-- As `fitsTurned`, where the first token of an order needs an edit; alone, it may go on into the second word.\n" +
    "local function fitsEdited(form, order)\n" +
    "  if byte(form, 1) == 3 or not order[2] then\n" +
    "    return byte(form, 1) ~= 3 and isEdited(form, order[1])\n" +
    "  end\n" +
    "  local words = wordsIn(form)\n" +
    "  return isEdited(words[1], order[1]) and assign(words, 2, order, 2)\n" +
    "end\n" +
    "\n" +
    "-- Candidates of all orders behind a member, if one is given: a function that gives the next best one. About so many are asked for.\n" +
    "local function candidates(orders, most, cursor)\n" +
    "  local stream, alphabet = newStream(most, cursor), readAlphabet()\n" +
    "\n" +
    "  local function visit(list, isWanted)\n" +
    "    local wanted = list\n" +
    "    if isWanted or cursor then\n" +
    "      wanted = {}\n" +
    "      for _, one in ipairs(list) do\n" +
    "        if (not isWanted or isWanted(one.member)) and (not cursor or precedes(cursor, one)) then\n" +
    "          wanted[#wanted + 1] = one\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "    stream.addList(wanted)\n" +
    "  end\n" +
    "\n" +
    "  -- Errors in the first letter, or those behind it.\n" +
    "  local function walk(order, isOfFirst)\n" +
    "    local token, second = order[1], order[2]\n" +
    "    local points, checked = pointsOf(token), {}\n" +
    "    local behind = second and ' ' .. literal(second) .. '*' or ''\n" +
    "    local shorter = table.concat(points, '', 1, #points - 1)\n" +
    "\n" +
    "    local function lookInto(places, pattern, isWanted)\n" +
    "      for _, key in ipairs(places) do\n" +
    "        if looked < MOST_EDITS then\n" +
    "          looked = looked + 1\n" +
    "          visit(matching(key, pattern), isWanted)\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "\n" +
    "    -- All of a prefix that an edit gives.\n" +
    "    local function check(edited)\n" +
    "      if looked >= MOST_EDITS then\n" +
    "        return\n" +
    "      end\n" +
    "      looked = looked + PLACE\n" +
    "      if second then\n" +
    "        scan(edited, literal(edited) .. '*' .. behind, edited, visit)\n" +
    "        return\n" +
    "      end\n" +
    "      local places = lightPlacesOf(edited)\n" +
    "      if places then\n" +
    "        lookInto(places, literal(edited) .. '*')\n" +
    "        return\n" +
    "      end\n" +
    "      stream.addPrefix(edited)\n" +
    "    end\n" +
    "\n" +
    "    local function checkAll(texts, known)\n" +
    "      local wanted = {}\n" +
    "      for _, edited in ipairs(looked < MOST_EDITS and texts or {}) do\n" +
    "        if edited ~= shorter and not checked[edited] and not begins(edited, token) then\n" +
    "          checked[edited], wanted[#wanted + 1] = true, edited\n" +
    "        end\n" +
    "      end\n" +
    "      looked = looked + ASKED * #wanted\n" +
    "      for _, edited in ipairs(mayBegin(wanted, known)) do\n" +
    "        check(edited)\n" +
    "      end\n" +
    "    end\n" +
    "\n" +
    "    -- Behind a light prefix, a look at its blocks tells all.\n" +
    "    local deepest, prefix = 1, ''\n" +
    "    while deepest <= #points and redis.call('EXISTS', tops .. prefix) == 1 do\n" +
    "      prefix, deepest = prefix .. points[deepest], deepest + 1\n" +
    "    end\n" +
    "    if deepest <= #points and isOfFirst == (deepest == 1) then\n" +
    "      lookInto(partsOf(prefix), literal(prefix) .. '*' .. behind, function(member)\n" +
    "        return fitsEdited(formIn(member), order)\n" +
    "      end)\n" +
    "    end\n" +
    "    for at = isOfFirst and math.min(1, deepest - 1) or deepest - 1, isOfFirst and 1 or 2, -1 do\n" +
    "      prefix = table.concat(points, '', 1, at - 1)\n" +
    "      local tail = table.concat(points, '', at + 1)\n" +
    "      local isLast = at == #points\n" +
    "      local without = prefix .. tail\n" +
    "      local swapped = not isLast and prefix .. points[at + 1] .. points[at] .. table.concat(points, '', at + 2)\n" +
    "      local more = points[at] .. tail\n" +
    "      local pattern = '*' .. literal(isLast and more or tail) .. '*' .. behind\n" +
    "\n" +
    "      -- Of what the pattern finds: that just one code point is another one, or one more.\n" +
    "      local function isNear(member)\n" +
    "        local to = #member > #prefix and endOf(member, #prefix + 1)\n" +
    "        return to\n" +
    "          and (not isLast and sub(member, to + 1, to + #tail) == tail or sub(member, to + 1, to + #more) == more)\n" +
    "      end\n" +
    "\n" +
    "      -- What follows a prefix byte by byte, until it is a code point.\n" +
    "      local function follow(part, texts)\n" +
    "        local places, children = partsOf(part)\n" +
    "        lookInto(places, literal(part) .. pattern, isNear)\n" +
    "        for _, child in ipairs(children) do\n" +
    "          if #child < endOf(child, #prefix + 1) and looked < MOST_EDITS then\n" +
    "            follow(child, {})\n" +
    "          else\n" +
    "            texts[#texts + 1] = child .. more\n" +
    "            texts[#texts + 1] = not isLast and child .. tail or nil\n" +
    "          end\n" +
    "        end\n" +
    "        checkAll(texts)\n" +
    "      end\n" +
    "      local others = isLast and {} or { without, swapped }\n" +
    "      if alphabet and #prefix < LENGTHS[1] and #prefix + 1 + #tail >= LENGTHS[1] then\n" +
    "        checkAll(others)\n" +
    "        looked = looked + ASKED * #alphabet\n" +
    "        checkAll(mayBeginBetween(prefix, isLast and { more } or { tail, more }, alphabet), LENGTHS[1])\n" +
    "      else\n" +
    "        follow(prefix, others)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "\n" +
    "  mostLooked = MOST_EDITS\n" +
    "  for _, isOfFirst in ipairs({ false, true }) do\n" +
    "    for _, order in ipairs(orders) do\n" +
    "      walk(order, isOfFirst)\n" +
    "    end\n" +
    "  end\n" +
    "  return stream.nextBest\n" +
    "end\n" +
    "\n" +
    "local cursor = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank), text = afterRank } or nil\n" +
    "\n" +
    "-- For each token that may be edited: it, and the others behind it.\n" +
    "local orders = {}\n" +
    "for i, token in ipairs(tokens) do\n" +
    "  if #pointsOf(token) >= LEAST_POINTS then\n" +
    "    local order = { token }\n" +
    "    for j, other in ipairs(tokens) do\n" +
    "      order[#order + 1] = j ~= i and other or nil\n" +
    "    end\n" +
    "    orders[#orders + 1] = order\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function fit(form)\n" +
    "  for _, order in ipairs(orders) do\n" +
    "    if fitsEdited(form, order) then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "-- Whether an entry is found without an edit.\n" +
    "local function isExact(one)\n" +
    "  for _, form in ipairs(formsOfEntry(one)) do\n" +
    "    if tokens[2] and assign(wordsIn(form), 1, tokens, 1) or not tokens[2] and fitsTurned(form, tokens) then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "local function isFound(one)\n" +
    "  if isExact(one) then\n" +
    "    return true\n" +
    "  end\n" +
    "  for _, form in ipairs(formsOfEntry(one)) do\n" +
    "    if fit(form) then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "-- Of what an edit finds, much may be found without one. Behind so many members that were looked at, another call goes on.\n" +
    "local MOST_CHECKED = 500\n" +
    "local FIRST_ASKED, checked = limit + 6, 0\n" +
    "\n" +
    "-- Tells of those of the candidates that are wanted. Returns the last one that was looked at, if there may be more behind it.\n" +
    "local function tellAll(nextBest, isWanted, fits, after)\n" +
    "  while true do\n" +
    "    local list = {}\n" +
    "    for i = 1, math.min(limit - #told, MOST_CHECKED - checked) do\n" +
    "      list[i] = nextBest()\n" +
    "      if not list[i] then\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "    readCards(list)\n" +
    "    for _, one in ipairs(list) do\n" +
    "      if isWanted(one) then\n" +
    "        tell(one, fits, after)\n" +
    "      end\n" +
    "    end\n" +
    "    checked = checked + #list\n" +
    "    if not list[1] or #told == limit or checked >= MOST_CHECKED then\n" +
    "      return list[#list]\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function tellEdited()\n" +
    "  return tellAll(candidates(orders, FIRST_ASKED, cursor), function(one)\n" +
    "    return fit(formIn(one.member)) and not isExact(one)\n" +
    "  end, fit, cursor)\n" +
    "end\n" +
    "\n" +
    "-- All that begins with the token is found without an edit.\n" +
    "local function tellEditedLast()\n" +
    "  local points = pointsOf(tokens[1])\n" +
    "  local shorter = table.concat(points, '', 1, #points - 1)\n" +
    "  local after = isOfLast and cursor or nil\n" +
    "  local stream = newStream(FIRST_ASKED, after, tokens[1])\n" +
    "  stream.addPrefix(shorter)\n" +
    "  return tellAll(stream.nextBest, function(one)\n" +
    "    return not isFound(one)\n" +
    "  end, function(form)\n" +
    "    return fitsTurned(form, { shorter })\n" +
    "  end, after)\n" +
    "end\n" +
    "\n" +
    "local rest, edited = nil, 0\n" +
    "if not isOfLast then\n" +
    "  rest = tellEdited()\n" +
    "  edited = #told\n" +
    "end\n" +
    "local isRestOfLast = not rest and edited < limit and not tokens[2]\n" +
    "if isRestOfLast then\n" +
    "  rest = tellEditedLast()\n" +
    "end\n" +
    "return replyWith(edited, rest and #told < limit and { isRestOfLast and '1' or '0', rest.text, rest.member } or {})\n",
} as const);

export const bookGet = new Script({
  name: "book.get",
  isReadOnly: true,
  keys: ["directory","cards","firstBlock","tops","absent"],
  args: ["halfLifeMs","id"],
  restArg: "members",
  source: "#!lua flags=no-writes\n" +
    "-- Reads one entry.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   directory    see book.apply.lua\n" +
    "--   cards        see book.apply.lua\n" +
    "--   firstBlock   see book.apply.lua\n" +
    "--   tops         see book.apply.lua\n" +
    "--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   as for book.apply.lua\n" +
    "--   id           the encoded key\n" +
    "--   members...   those that follow from the key\n" +
    "-- RETURNS\n" +
    "--   its card or an empty string, its rank, and how many half-lives the server's clock counts; nothing if it is not there\n" +
    "local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local halfLifeMs, id = tonumber(ARGV[1]), ARGV[2]\n" +
    "local members = { unpack(ARGV, 3) }\n" +
    "local find = string.find\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server. Numbers are given to\n" +
    "-- commands as strings, since it takes Lua longer to write one than Redis to read it.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "-- Whether a text comes before another one, where both are the same in front of a byte, by default the first.\n" +
    "local function isBefore(a, b, at)\n" +
    "  at = at or 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    -- Equal names differ in their keys only, behind dozens of bytes.\n" +
    "    at = at + (at > 2 and sub(a, at, at + 15) == sub(b, at, at + 15) and 16 or 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best first: ranks are negated scores, and members of one score stand in the order of their bytes.\n" +
    "local function precedes(a, b)\n" +
    "  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)\n" +
    "end\n" +
    "\n" +
    "-- Where the code point ends that begins at a byte.\n" +
    "local function endOf(text, at)\n" +
    "  local first = byte(text, at)\n" +
    "  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)\n" +
    "end\n" +
    "\n" +
    "-- An entry of the directory is where a block begins, NUL, and its number.\n" +
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', '0', '1')[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- A text as a pattern that only it matches.\n" +
    "local function literal(text)\n" +
    "  return find(text, '[%*%?%[%\\\\]') and string.gsub(text, '[%*%?%[%\\\\]', '\\\\%0') or text\n" +
    "end\n" +
    "\n" +
    "-- Members and ranks in a flat list as members with their ranks, the best first.\n" +
    "local function inOrder(list)\n" +
    "  local found, isSorted = {}, true\n" +
    "  for i = 1, #list, 2 do\n" +
    "    local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    isSorted = isSorted and (i == 1 or precedes(found[#found], one))\n" +
    "    found[#found + 1] = one\n" +
    "  end\n" +
    "  if not isSorted then\n" +
    "    table.sort(found, precedes)\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The members of a block or top set that match a pattern, the best first. The server looks through them: a third of what it costs to\n" +
    "-- bring all of a block into the script. COUNT is more than there are, so one call is all, and a set in a list comes in its order.\n" +
    "local function matching(key, pattern)\n" +
    "  return inOrder(redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2])\n" +
    "end\n" +
    "\n" +
    "-- Whether a block begins within a prefix, and not where it begins.\n" +
    "local function isWithin(entry, part)\n" +
    "  return entry and sub(entry, 1, #part) == part and byte(entry, #part + 1) ~= 0\n" +
    "end\n" +
    "\n" +
    "-- The blocks that may have members with a light prefix; nothing of a heavy one.\n" +
    "local function lightPlacesOf(prefix)\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, '(' .. prefix .. '\\255', '-', 'LIMIT', '0', '2')\n" +
    "  if isWithin(entries[2], prefix) then\n" +
    "    return nil\n" +
    "  elseif not entries[1] then\n" +
    "    return { firstBlock }\n" +
    "  end\n" +
    "  return { keyOf(entries[1]), isWithin(entries[1], prefix) and keyOf(entries[2]) or nil }\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one byte longer, that are heavy, and the blocks that hold anything else of it. Bytes\n" +
    "-- and not code points, so that no alphabet gives a prefix more than a few dozen parts: of Han there are thousands.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks. The last part comes first: of the two last blocks that begin in front of a place, both tell\n" +
    "-- whether the part is heavy, and the last one is where it ends.\n" +
    "local function partsOf(prefix)\n" +
    "  local found, children, above, bound = {}, {}, nil, prefix .. '\\255'\n" +
    "  repeat\n" +
    "    local entries, at = redis.call('ZREVRANGEBYLEX', directory, '(' .. bound, '-', 'LIMIT', '0', '3'), 1\n" +
    "    if not entries[1] then\n" +
    "      return { firstBlock }, {}\n" +
    "    end\n" +
    "    bound = nil\n" +
    "    while not bound do\n" +
    "      local entry = entries[at]\n" +
    "      if not isWithin(entry, prefix) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "        return found, children\n" +
    "      end\n" +
    "      local part = sub(entry, 1, #prefix + 1)\n" +
    "      local isHeavy = isWithin(entry, part) and isWithin(entries[at + 1], part)\n" +
    "      -- The block in which a heavy part ends may go on behind it; not if another one is next to it, as b is to a.\n" +
    "      if not (isHeavy and above and byte(above, -1) == byte(part, -1) + 1) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "      end\n" +
    "      above = isHeavy and part\n" +
    "      if isHeavy then\n" +
    "        children[#children + 1], bound = part, part\n" +
    "      elseif at == 2 then\n" +
    "        bound = entry\n" +
    "      end\n" +
    "      at = at + 1\n" +
    "    end\n" +
    "  until false\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0, and any other one a negative rank: log2 is -1074 or\n" +
    "-- more. `score.ts` does it likewise.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS, OFFSET = 1000, 1100\n" +
    "local LARGEST = 1.7976931348623157e308\n" +
    "local halfLives = 0\n" +
    "if halfLifeMs > 0 then\n" +
    "  local time = redis.call('TIME')\n" +
    "  halfLives = (time[1] * 1000 + time[2] / 1000) / halfLifeMs\n" +
    "end\n" +
    "\n" +
    "local function log2(value)\n" +
    "  return math.log(value) / math.log(2)\n" +
    "end\n" +
    "\n" +
    "local function rankOf(score)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return score == 0 and '0' or string.format('%.17g', -score)\n" +
    "  end\n" +
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives + OFFSET))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or math.min(LARGEST, 2 ^ (-rank / UNITS - OFFSET - halfLives))\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "\n" +
    "local card = redis.call('HGET', cards, id)\n" +
    "local member = members[1]\n" +
    "if card then\n" +
    "  member = string.match(card, '^[^%z\\1]+') .. '\\1' .. id\n" +
    "end\n" +
    "local rank = member and redis.call('ZSCORE', (placeOf(member)), member)\n" +
    "return rank and { card or '', rank, string.format('%.17g', halfLives) }\n",
} as const);

export const bookList = new Script({
  name: "book.list",
  isReadOnly: true,
  keys: ["directory","cards","firstBlock","tops","absent"],
  args: ["halfLifeMs","limit","place","prefix"],
  restArg: "others",
  source: "#!lua flags=no-writes\n" +
    "-- Lists the entries whose words the tokens begin, each token a word of its own, in the order of the bytes of their forms.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   directory    see book.apply.lua\n" +
    "--   cards        see book.apply.lua\n" +
    "--   firstBlock   see book.apply.lua\n" +
    "--   tops         see book.apply.lua\n" +
    "--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   as for book.apply.lua\n" +
    "--   limit        the most entries\n" +
    "--   place        where to begin: forms before it are left out\n" +
    "--   prefix       the first token; empty: all entries have it, if it is the only one\n" +
    "--   others...    the other tokens\n" +
    "-- RETURNS\n" +
    "--   an array with the member by which each entry was found, and its rank behind it; an array with the card of each or an empty\n" +
    "--   string, or empty if none has one; how many half-lives the server's clock counts, 0 without; and where to go on, because the work\n" +
    "--   of one call is bounded: nothing if all is found, or the place\n" +
    "local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local halfLifeMs, limit = tonumber(ARGV[1]), tonumber(ARGV[2])\n" +
    "local place, prefix = ARGV[3], ARGV[4]\n" +
    "local others = ARGV\n" +
    "local find = string.find\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server. Numbers are given to\n" +
    "-- commands as strings, since it takes Lua longer to write one than Redis to read it.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "-- Whether a text comes before another one, where both are the same in front of a byte, by default the first.\n" +
    "local function isBefore(a, b, at)\n" +
    "  at = at or 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    -- Equal names differ in their keys only, behind dozens of bytes.\n" +
    "    at = at + (at > 2 and sub(a, at, at + 15) == sub(b, at, at + 15) and 16 or 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best first: ranks are negated scores, and members of one score stand in the order of their bytes.\n" +
    "local function precedes(a, b)\n" +
    "  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)\n" +
    "end\n" +
    "\n" +
    "-- Where the code point ends that begins at a byte.\n" +
    "local function endOf(text, at)\n" +
    "  local first = byte(text, at)\n" +
    "  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)\n" +
    "end\n" +
    "\n" +
    "-- An entry of the directory is where a block begins, NUL, and its number.\n" +
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', '0', '1')[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- A text as a pattern that only it matches.\n" +
    "local function literal(text)\n" +
    "  return find(text, '[%*%?%[%\\\\]') and string.gsub(text, '[%*%?%[%\\\\]', '\\\\%0') or text\n" +
    "end\n" +
    "\n" +
    "-- Members and ranks in a flat list as members with their ranks, the best first.\n" +
    "local function inOrder(list)\n" +
    "  local found, isSorted = {}, true\n" +
    "  for i = 1, #list, 2 do\n" +
    "    local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    isSorted = isSorted and (i == 1 or precedes(found[#found], one))\n" +
    "    found[#found + 1] = one\n" +
    "  end\n" +
    "  if not isSorted then\n" +
    "    table.sort(found, precedes)\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The members of a block or top set that match a pattern, the best first. The server looks through them: a third of what it costs to\n" +
    "-- bring all of a block into the script. COUNT is more than there are, so one call is all, and a set in a list comes in its order.\n" +
    "local function matching(key, pattern)\n" +
    "  return inOrder(redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2])\n" +
    "end\n" +
    "\n" +
    "-- Whether a block begins within a prefix, and not where it begins.\n" +
    "local function isWithin(entry, part)\n" +
    "  return entry and sub(entry, 1, #part) == part and byte(entry, #part + 1) ~= 0\n" +
    "end\n" +
    "\n" +
    "-- The blocks that may have members with a light prefix; nothing of a heavy one.\n" +
    "local function lightPlacesOf(prefix)\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, '(' .. prefix .. '\\255', '-', 'LIMIT', '0', '2')\n" +
    "  if isWithin(entries[2], prefix) then\n" +
    "    return nil\n" +
    "  elseif not entries[1] then\n" +
    "    return { firstBlock }\n" +
    "  end\n" +
    "  return { keyOf(entries[1]), isWithin(entries[1], prefix) and keyOf(entries[2]) or nil }\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one byte longer, that are heavy, and the blocks that hold anything else of it. Bytes\n" +
    "-- and not code points, so that no alphabet gives a prefix more than a few dozen parts: of Han there are thousands.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks. The last part comes first: of the two last blocks that begin in front of a place, both tell\n" +
    "-- whether the part is heavy, and the last one is where it ends.\n" +
    "local function partsOf(prefix)\n" +
    "  local found, children, above, bound = {}, {}, nil, prefix .. '\\255'\n" +
    "  repeat\n" +
    "    local entries, at = redis.call('ZREVRANGEBYLEX', directory, '(' .. bound, '-', 'LIMIT', '0', '3'), 1\n" +
    "    if not entries[1] then\n" +
    "      return { firstBlock }, {}\n" +
    "    end\n" +
    "    bound = nil\n" +
    "    while not bound do\n" +
    "      local entry = entries[at]\n" +
    "      if not isWithin(entry, prefix) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "        return found, children\n" +
    "      end\n" +
    "      local part = sub(entry, 1, #prefix + 1)\n" +
    "      local isHeavy = isWithin(entry, part) and isWithin(entries[at + 1], part)\n" +
    "      -- The block in which a heavy part ends may go on behind it; not if another one is next to it, as b is to a.\n" +
    "      if not (isHeavy and above and byte(above, -1) == byte(part, -1) + 1) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "      end\n" +
    "      above = isHeavy and part\n" +
    "      if isHeavy then\n" +
    "        children[#children + 1], bound = part, part\n" +
    "      elseif at == 2 then\n" +
    "        bound = entry\n" +
    "      end\n" +
    "      at = at + 1\n" +
    "    end\n" +
    "  until false\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0, and any other one a negative rank: log2 is -1074 or\n" +
    "-- more. `score.ts` does it likewise.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS, OFFSET = 1000, 1100\n" +
    "local LARGEST = 1.7976931348623157e308\n" +
    "local halfLives = 0\n" +
    "if halfLifeMs > 0 then\n" +
    "  local time = redis.call('TIME')\n" +
    "  halfLives = (time[1] * 1000 + time[2] / 1000) / halfLifeMs\n" +
    "end\n" +
    "\n" +
    "local function log2(value)\n" +
    "  return math.log(value) / math.log(2)\n" +
    "end\n" +
    "\n" +
    "local function rankOf(score)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return score == 0 and '0' or string.format('%.17g', -score)\n" +
    "  end\n" +
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives + OFFSET))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or math.min(LARGEST, 2 ^ (-rank / UNITS - OFFSET - halfLives))\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "-- The forms of an entry, and which of them fit the tokens of a query. `forms.ts` makes the same ones.\n" +
    "-- Expects: book.places.part.lua before it, cards.\n" +
    "\n" +
    "local function begins(text, with)\n" +
    "  return sub(text, 1, #with) == with\n" +
    "end\n" +
    "\n" +
    "-- The form of a member. `ann ann` is all of its member, as a handle is: it has one form, which is its key.\n" +
    "local function formIn(member)\n" +
    "  return sub(member, 1, (find(member, '\\1', 1, true) or 0) - 1)\n" +
    "end\n" +
    "\n" +
    "-- The words of a form, in its order.\n" +
    "local function wordsIn(form)\n" +
    "  local words = {}\n" +
    "  for word in string.gmatch(byte(form, 1) == 3 and sub(form, (find(form, ' ', 1, true))) or form, '[^ ]+') do\n" +
    "    words[#words + 1] = word\n" +
    "  end\n" +
    "  return words\n" +
    "end\n" +
    "\n" +
    "-- The first code points of two texts in turn, up to the third; a text that has ended gives `ended`, or ends all.\n" +
    "local function inTurn(a, b, ended)\n" +
    "  local turns, atA, atB = {}, 1, 1\n" +
    "  for _ = 1, 3 do\n" +
    "    local toA, toB = atA <= #a and endOf(a, atA), atB <= #b and endOf(b, atB)\n" +
    "    turns[#turns + 1] = toA and sub(a, atA, toA) or ended\n" +
    "    if not ended and not (toA and toB) then\n" +
    "      break\n" +
    "    end\n" +
    "    turns[#turns + 1] = toB and sub(b, atB, toB) or ended\n" +
    "    atA, atB = toA and toA + 1 or atA, toB and toB + 1 or atB\n" +
    "  end\n" +
    "  return table.concat(turns)\n" +
    "end\n" +
    "\n" +
    "-- All forms of a name that are of one kind with one of them.\n" +
    "local function formsLike(form)\n" +
    "  local words, forms = wordsIn(form), {}\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    local space = 0\n" +
    "    while space do\n" +
    "      forms[#forms + 1] = space == 0 and form or sub(form, space + 1) .. ' ' .. sub(form, 1, space - 1)\n" +
    "      space = find(form, ' ', space + 1, true)\n" +
    "    end\n" +
    "    return forms\n" +
    "  end\n" +
    "  table.sort(words, isBefore)\n" +
    "  for i = 1, #words do\n" +
    "    for j = i + 1, #words do\n" +
    "      local all = { words[i], words[j] }\n" +
    "      for k = 1, #words do\n" +
    "        all[#all + 1] = k ~= i and k ~= j and words[k] or nil\n" +
    "      end\n" +
    "      forms[#forms + 1] = '\\3' .. inTurn(words[i], words[j], '\\4') .. ' ' .. table.concat(all, ' ')\n" +
    "    end\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Forms of the entry that a member belongs to, after `readCards`: all, or those like that of the member.\n" +
    "local function formsOfEntry(one)\n" +
    "  if not one.separator then\n" +
    "    return { one.member }\n" +
    "  elseif not one.card then\n" +
    "    return formsLike(sub(one.member, 1, one.separator - 1))\n" +
    "  end\n" +
    "  local forms = {}\n" +
    "  for form in string.gmatch(sub(one.card, 1, find(one.card, '\\0', 1, true) - 1), '[^\\1]+') do\n" +
    "    forms[#forms + 1] = form\n" +
    "  end\n" +
    "  return forms\n" +
    "end\n" +
    "\n" +
    "-- Gives the tokens from `at` on words from `first` on, each its own.\n" +
    "local function assign(words, first, tokens, at)\n" +
    "  local token = tokens[at]\n" +
    "  for i = first, token and #words or 0 do\n" +
    "    local word = words[i]\n" +
    "    if begins(word, token) then\n" +
    "      words[i] = ''\n" +
    "      if assign(words, first, tokens, at + 1) then\n" +
    "        return true\n" +
    "      end\n" +
    "      words[i] = word\n" +
    "    end\n" +
    "  end\n" +
    "  return not token\n" +
    "end\n" +
    "\n" +
    "-- Whether the first token begins a turned form, and each other one a word of its own behind the first.\n" +
    "local function fitsTurned(form, tokens)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "    and begins(form, tokens[1])\n" +
    "    and (not tokens[2] or assign(wordsIn(form), 2, tokens, 2))\n" +
    "end\n" +
    "\n" +
    "-- Whether the first two tokens begin the two words of a form for two, in any order, and each other one a word of its own.\n" +
    "local function fitsPair(form, tokens)\n" +
    "  if byte(form, 1) ~= 3 then\n" +
    "    return false\n" +
    "  end\n" +
    "  local words = wordsIn(form)\n" +
    "  for i = 1, 2 do\n" +
    "    if begins(words[i], tokens[1]) and begins(words[3 - i], tokens[2]) and assign(words, 3, tokens, 3) then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "-- Adds to members what is known of their entries.\n" +
    "local function readCards(found)\n" +
    "  local ids = {}\n" +
    "  for _, one in ipairs(found) do\n" +
    "    one.separator = find(one.member, '\\1', 1, true)\n" +
    "    if one.separator then\n" +
    "      ids[#ids + 1] = sub(one.member, one.separator + 1)\n" +
    "      one.at = #ids\n" +
    "    end\n" +
    "  end\n" +
    "  -- As many as a call can take at once.\n" +
    "  for from = 1, #ids, 4000 do\n" +
    "    local known = redis.call('HMGET', cards, unpack(ids, from, math.min(from + 3999, #ids)))\n" +
    "    for _, one in ipairs(found) do\n" +
    "      if one.at and one.at >= from and one.at < from + 4000 then\n" +
    "        one.card = known[one.at - from + 1]\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Whether no other member of its entry that fits stands before a member.\n" +
    "local function isFirst(one, fit)\n" +
    "  local id = one.separator and sub(one.member, one.separator)\n" +
    "  for _, form in ipairs(id and formsOfEntry(one) or {}) do\n" +
    "    if fit(form) and isBefore(form .. id, one.member) then\n" +
    "      return false\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "-- Whether a form is not one for two words.\n" +
    "local function isTurned(form)\n" +
    "  return byte(form, 1) ~= 3\n" +
    "end\n" +
    "-- What is told of the members found: each entry once, by the first member of it that fits.\n" +
    "-- Expects: book.forms.part.lua and book.score.part.lua before it.\n" +
    "local replies, told, hasCards, known = {}, {}, false, {}\n" +
    "\n" +
    "-- Tells of a member unless its entry was told of, and returns whether it did. All members of an entry have one rank: in the order of rank, only an entry that\n" +
    "-- has the rank of the cursor can have been told of on the page before.\n" +
    "local function tell(one, fit, cursor)\n" +
    "  local id = one.separator and sub(one.member, one.separator + 1) or one.member\n" +
    "  if known[id] or cursor and cursor.rank == one.rank and not isFirst(one, fit) then\n" +
    "    return false\n" +
    "  end\n" +
    "  known[id] = true\n" +
    "  told[#told + 1], hasCards = one.card or '', hasCards or one.card\n" +
    "  replies[#replies + 1] = one.member\n" +
    "  replies[#replies + 1] = one.text\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local function replyWith(...)\n" +
    "  return { replies, hasCards and told or {}, string.format('%.17g', halfLives), ... }\n" +
    "end\n" +
    "-- A look through the blocks of a prefix.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "-- How many blocks a call may look through, about 7 µs each. Who needs more goes on in another call.\n" +
    "local looked, mostLooked = 0, 200\n" +
    "\n" +
    "local function startOf(entry)\n" +
    "  return sub(entry, 1, find(entry, '\\0', 1, true) - 1)\n" +
    "end\n" +
    "\n" +
    "-- Calls `visit` with the members that begin with `head` and match a pattern, in a list for each block, from a place on. Returns\n" +
    "-- nothing, or the place where to go on; ends early if `visit` returns true.\n" +
    "local function scan(head, pattern, place, visit)\n" +
    "  local last = '(' .. head .. '\\255'\n" +
    "  local key, entry = placeOf(place)\n" +
    "  local ahead, at = {}, 1\n" +
    "  while key do\n" +
    "    looked = looked + 1\n" +
    "    if visit(matching(key, pattern)) then\n" +
    "      return nil\n" +
    "    end\n" +
    "    if entry and not ahead[at] then\n" +
    "      ahead, at = redis.call('ZRANGEBYLEX', directory, '(' .. entry, last, 'LIMIT', '0', '16'), 1\n" +
    "    end\n" +
    "    entry, at = ahead[at], at + 1\n" +
    "    key = entry and keyOf(entry)\n" +
    "    if key and looked >= mostLooked then\n" +
    "      return startOf(entry)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local tokens = { unpack(others, 4) }\n" +
    "local function fit(form)\n" +
    "  return fitsTurned(form, tokens)\n" +
    "end\n" +
    "\n" +
    "local found = {}\n" +
    "local from = isBefore(prefix, place) and place or prefix\n" +
    "local pattern = literal(prefix) .. '*' .. (tokens[2] and ' ' .. literal(tokens[2]) .. '*' or '')\n" +
    "local rest = scan(prefix, pattern, from, function(list)\n" +
    "  readCards(list)\n" +
    "  for _, one in ipairs(list) do\n" +
    "    if not isBefore(one.member, place) and fit(formIn(one.member)) and isFirst(one, fit) then\n" +
    "      found[#found + 1] = one\n" +
    "    end\n" +
    "  end\n" +
    "  return #found >= limit\n" +
    "end)\n" +
    "table.sort(found, function(a, b)\n" +
    "  return isBefore(a.member, b.member)\n" +
    "end)\n" +
    "for i = 1, math.min(limit, #found) do\n" +
    "  tell(found[i], fit)\n" +
    "end\n" +
    "return replyWith(#told < limit and rest and { rest } or {})\n",
} as const);

export const bookQuick = new Script({
  name: "book.quick",
  isReadOnly: true,
  keys: ["directory","cards","firstBlock","tops","absent"],
  args: ["halfLifeMs"],
  restArg: "queries",
  source: "#!lua flags=no-writes\n" +
    "-- Finds the best entries with a word that a token begins: the common queries, many in one call. Members stay in the flat lists that\n" +
    "-- commands give, and answers are one text each: half of what book.complete.lua takes for the same.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   directory    see book.apply.lua\n" +
    "--   cards        see book.apply.lua\n" +
    "--   firstBlock   see book.apply.lua\n" +
    "--   tops         see book.apply.lua\n" +
    "--   absent       never exists: while the slot moves, a node refuses a call of whose keys it lacks one, and so runs none\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   as for book.apply.lua\n" +
    "--   queries...   for each: the number of the last entry wanted, the best one being 0; the token; empty: all entries have it\n" +
    "-- RETURNS\n" +
    "--   for each query a text: the member by which each entry was found, and its rank behind it, the best first, with \\2 between all. If\n" +
    "--   one has a card, there is a \\2 in front, and behind each rank the card of the entry or nothing. Or nil where the top set holds\n" +
    "--   fewer entries than are wanted: book.complete.lua finds them. And last, how many half-lives the server's clock counts, 0 without\n" +
    "local directory, cards, firstBlock, tops, absent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local halfLifeMs = tonumber(ARGV[1])\n" +
    "local queries = ARGV\n" +
    "local find, concat = string.find, table.concat\n" +
    "\n" +
    "-- Most queries end here: a heavy prefix of a book of handles. Without a key behind them all members are handles, which are entries of\n" +
    "-- their own. Nothing is prepared before, since the functions below take Lua as long as such an answer.\n" +
    "local answers, tried, isDone = {}, {}, halfLifeMs == 0\n" +
    "for i = 2, #queries, 2 do\n" +
    "  local list = redis.call('ZRANGE', tops .. queries[i + 1], '0', queries[i], 'WITHSCORES')\n" +
    "  local text = #list == 2 * (queries[i] + 1) and concat(list, '\\2')\n" +
    "  if text and not find(text, '\\1', 1, true) then\n" +
    "    answers[i / 2] = text\n" +
    "  else\n" +
    "    answers[i / 2], tried[i], isDone = false, list, false\n" +
    "  end\n" +
    "end\n" +
    "if isDone then\n" +
    "  answers[#answers + 1] = '0'\n" +
    "  return answers\n" +
    "end\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server. Numbers are given to\n" +
    "-- commands as strings, since it takes Lua longer to write one than Redis to read it.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "-- Whether a text comes before another one, where both are the same in front of a byte, by default the first.\n" +
    "local function isBefore(a, b, at)\n" +
    "  at = at or 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    -- Equal names differ in their keys only, behind dozens of bytes.\n" +
    "    at = at + (at > 2 and sub(a, at, at + 15) == sub(b, at, at + 15) and 16 or 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The best first: ranks are negated scores, and members of one score stand in the order of their bytes.\n" +
    "local function precedes(a, b)\n" +
    "  return a.rank < b.rank or a.rank == b.rank and isBefore(a.member, b.member)\n" +
    "end\n" +
    "\n" +
    "-- Where the code point ends that begins at a byte.\n" +
    "local function endOf(text, at)\n" +
    "  local first = byte(text, at)\n" +
    "  return at + (first < 0xC0 and 0 or first < 0xE0 and 1 or first < 0xF0 and 2 or 3)\n" +
    "end\n" +
    "\n" +
    "-- An entry of the directory is where a block begins, NUL, and its number.\n" +
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', '0', '1')[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- A text as a pattern that only it matches.\n" +
    "local function literal(text)\n" +
    "  return find(text, '[%*%?%[%\\\\]') and string.gsub(text, '[%*%?%[%\\\\]', '\\\\%0') or text\n" +
    "end\n" +
    "\n" +
    "-- Members and ranks in a flat list as members with their ranks, the best first.\n" +
    "local function inOrder(list)\n" +
    "  local found, isSorted = {}, true\n" +
    "  for i = 1, #list, 2 do\n" +
    "    local one = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    isSorted = isSorted and (i == 1 or precedes(found[#found], one))\n" +
    "    found[#found + 1] = one\n" +
    "  end\n" +
    "  if not isSorted then\n" +
    "    table.sort(found, precedes)\n" +
    "  end\n" +
    "  return found\n" +
    "end\n" +
    "\n" +
    "-- The members of a block or top set that match a pattern, the best first. The server looks through them: a third of what it costs to\n" +
    "-- bring all of a block into the script. COUNT is more than there are, so one call is all, and a set in a list comes in its order.\n" +
    "local function matching(key, pattern)\n" +
    "  return inOrder(redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2])\n" +
    "end\n" +
    "\n" +
    "-- Whether a block begins within a prefix, and not where it begins.\n" +
    "local function isWithin(entry, part)\n" +
    "  return entry and sub(entry, 1, #part) == part and byte(entry, #part + 1) ~= 0\n" +
    "end\n" +
    "\n" +
    "-- The blocks that may have members with a light prefix; nothing of a heavy one.\n" +
    "local function lightPlacesOf(prefix)\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, '(' .. prefix .. '\\255', '-', 'LIMIT', '0', '2')\n" +
    "  if isWithin(entries[2], prefix) then\n" +
    "    return nil\n" +
    "  elseif not entries[1] then\n" +
    "    return { firstBlock }\n" +
    "  end\n" +
    "  return { keyOf(entries[1]), isWithin(entries[1], prefix) and keyOf(entries[2]) or nil }\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one byte longer, that are heavy, and the blocks that hold anything else of it. Bytes\n" +
    "-- and not code points, so that no alphabet gives a prefix more than a few dozen parts: of Han there are thousands.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks. The last part comes first: of the two last blocks that begin in front of a place, both tell\n" +
    "-- whether the part is heavy, and the last one is where it ends.\n" +
    "local function partsOf(prefix)\n" +
    "  local found, children, above, bound = {}, {}, nil, prefix .. '\\255'\n" +
    "  repeat\n" +
    "    local entries, at = redis.call('ZREVRANGEBYLEX', directory, '(' .. bound, '-', 'LIMIT', '0', '3'), 1\n" +
    "    if not entries[1] then\n" +
    "      return { firstBlock }, {}\n" +
    "    end\n" +
    "    bound = nil\n" +
    "    while not bound do\n" +
    "      local entry = entries[at]\n" +
    "      if not isWithin(entry, prefix) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "        return found, children\n" +
    "      end\n" +
    "      local part = sub(entry, 1, #prefix + 1)\n" +
    "      local isHeavy = isWithin(entry, part) and isWithin(entries[at + 1], part)\n" +
    "      -- The block in which a heavy part ends may go on behind it; not if another one is next to it, as b is to a.\n" +
    "      if not (isHeavy and above and byte(above, -1) == byte(part, -1) + 1) then\n" +
    "        found[#found + 1] = keyOf(entry)\n" +
    "      end\n" +
    "      above = isHeavy and part\n" +
    "      if isHeavy then\n" +
    "        children[#children + 1], bound = part, part\n" +
    "      elseif at == 2 then\n" +
    "        bound = entry\n" +
    "      end\n" +
    "      at = at + 1\n" +
    "    end\n" +
    "  until false\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life + 1100)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0, and any other one a negative rank: log2 is -1074 or\n" +
    "-- more. `score.ts` does it likewise.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS, OFFSET = 1000, 1100\n" +
    "local LARGEST = 1.7976931348623157e308\n" +
    "local halfLives = 0\n" +
    "if halfLifeMs > 0 then\n" +
    "  local time = redis.call('TIME')\n" +
    "  halfLives = (time[1] * 1000 + time[2] / 1000) / halfLifeMs\n" +
    "end\n" +
    "\n" +
    "local function log2(value)\n" +
    "  return math.log(value) / math.log(2)\n" +
    "end\n" +
    "\n" +
    "local function rankOf(score)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return score == 0 and '0' or string.format('%.17g', -score)\n" +
    "  end\n" +
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives + OFFSET))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or math.min(LARGEST, 2 ^ (-rank / UNITS - OFFSET - halfLives))\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "\n" +
    "-- Members and ranks of a block that match a pattern, the best first. They are the same in front of `from`.\n" +
    "local function pairsIn(key, pattern, from)\n" +
    "  local list = redis.call('ZSCAN', key, '0', 'MATCH', pattern, 'COUNT', '1000')[2]\n" +
    "  local before\n" +
    "  for i = 2, #list, 2 do\n" +
    "    local rank = tonumber(list[i])\n" +
    "    if before and (rank < before or rank == before and not isBefore(list[i - 3], list[i - 1], from)) then\n" +
    "      -- Names of more than 64 bytes: the block is no list in Redis' memory, so it has no order.\n" +
    "      local ordered = {}\n" +
    "      for at, one in ipairs(inOrder(list)) do\n" +
    "        ordered[2 * at - 1], ordered[2 * at] = one.member, one.text\n" +
    "      end\n" +
    "      return ordered\n" +
    "    end\n" +
    "    before = rank\n" +
    "  end\n" +
    "  return list\n" +
    "end\n" +
    "\n" +
    "-- The best of two lists of members and ranks, up to a number.\n" +
    "local function merge(a, b, most, from)\n" +
    "  local all, i, j = {}, 1, 1\n" +
    "  local x, y = tonumber(a[2]), tonumber(b[2])\n" +
    "  for at = 1, 2 * most, 2 do\n" +
    "    if x and (not y or x < y or x == y and isBefore(a[i], b[j], from)) then\n" +
    "      all[at], all[at + 1], i = a[i], a[i + 1], i + 2\n" +
    "      x = tonumber(a[i + 1])\n" +
    "    elseif y then\n" +
    "      all[at], all[at + 1], j = b[j], b[j + 1], j + 2\n" +
    "      y = tonumber(b[j + 1])\n" +
    "    else\n" +
    "      break\n" +
    "    end\n" +
    "  end\n" +
    "  return all\n" +
    "end\n" +
    "\n" +
    "-- The answer from members and ranks, each entry once, and whether there are as many as wanted. A form for two words is none for a token.\n" +
    "local function tell(list, limit)\n" +
    "  local ids, told, seen = {}, {}, {}\n" +
    "  for i = 1, #list, 2 do\n" +
    "    local member = list[i]\n" +
    "    local separator = find(member, '\\1', 1, true)\n" +
    "    local id = separator and sub(member, separator + 1) or member\n" +
    "    if not seen[id] and byte(member, 1) ~= 3 then\n" +
    "      seen[id] = true\n" +
    "      ids[#ids + 1], told[#told + 1], told[#told + 2] = id, member, list[i + 1]\n" +
    "      if #ids == limit then\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  if not ids[1] then\n" +
    "    return '', false\n" +
    "  end\n" +
    "  local known, all = redis.call('HMGET', cards, unpack(ids)), { '' }\n" +
    "  for i = 1, #ids do\n" +
    "    all[3 * i - 1], all[3 * i], all[3 * i + 1] = told[2 * i - 1], told[2 * i], known[i] or ''\n" +
    "    known.isAny = known.isAny or known[i]\n" +
    "  end\n" +
    "  return concat(known.isAny and all or told, '\\2'), #ids == limit\n" +
    "end\n" +
    "\n" +
    "-- `list`: what the top set has of as many as are wanted.\n" +
    "local function answerTo(last, prefix, list)\n" +
    "  local limit = last + 1\n" +
    "  if list[1] then\n" +
    "    local text, isEnough = tell(list, limit)\n" +
    "    if not isEnough and #list == 2 * limit then\n" +
    "      text, isEnough = tell(redis.call('ZRANGE', tops .. prefix, '0', '-1', 'WITHSCORES'), limit)\n" +
    "    end\n" +
    "    return isEnough and text\n" +
    "  end\n" +
    "  local places = lightPlacesOf(prefix)\n" +
    "  if not places then\n" +
    "    return false\n" +
    "  end\n" +
    "  local from, pattern, more = #prefix + 1, literal(prefix) .. '*', nil\n" +
    "  list = pairsIn(places[1], pattern, from)\n" +
    "  if places[2] then\n" +
    "    more = pairsIn(places[2], pattern, from)\n" +
    "    if list[1] and more[1] then\n" +
    "      list, more = merge(list, more, limit, from), { list, more }\n" +
    "    else\n" +
    "      list, more = list[1] and list or more, nil\n" +
    "    end\n" +
    "  end\n" +
    "  local text = concat(list, '\\2', 1, math.min(#list, 2 * limit))\n" +
    "  if find(text, '\\1', 1, true) then\n" +
    "    text = tell(more and merge(more[1], more[2], 1000, from) or list, limit)\n" +
    "  end\n" +
    "  return text\n" +
    "end\n" +
    "\n" +
    "for i = 2, #queries, 2 do\n" +
    "  if tried[i] then\n" +
    "    answers[i / 2] = answerTo(queries[i], queries[i + 1], tried[i])\n" +
    "  end\n" +
    "end\n" +
    "answers[#answers + 1] = halfLives == 0 and '0' or string.format('%.17g', halfLives)\n" +
    "return answers\n",
} as const);

export const recentContactsApply = new Script({
  name: "recent-contacts.apply",
  isReadOnly: false,
  keys: [],
  args: ["capacity","idleMs","signs"],
  restKey: "recents",
  restArg: "entries",
  source: "#!lua\n" +
    "-- Puts contacts in front of users' lists or takes them out, one after the other, and keeps each list to its capacity.\n" +
    "--\n" +
    "-- What touches cost is mostly what a call costs, so those of many users share one. On a Cluster it has those of one user.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   recents...  for each change: LIST of entries, the last touched first; until it is empty or idle\n" +
    "-- ARGV\n" +
    "--   capacity    the most entries that stay\n" +
    "--   idleMs      ms until a list that nobody changes goes away\n" +
    "--   signs       one character for each change: '+' (touch) or '-' (remove)\n" +
    "--   entries...  one for each change\n" +
    "-- RETURNS\n" +
    "--   for each change an integer: 1 if the entry was in the list, else 0; or an error, where the key is no list: nothing of it is changed\n" +
    "local recents = KEYS\n" +
    "local capacity, idleMs, signs = tonumber(ARGV[1]), ARGV[2], ARGV[3]\n" +
    "\n" +
    "-- Numbers go as text: Redis would make it of them for each call anew, and that takes as long as some of the calls.\n" +
    "local last = string.format('%d', capacity - 1)\n" +
    "local TOUCH = string.byte('+')\n" +
    "local call, try, byte = redis.call, redis.pcall, string.byte\n" +
    "\n" +
    "local found = {}\n" +
    "for index = 1, #recents do\n" +
    "  local recent, entry = recents[index], ARGV[index + 3]\n" +
    "  local removed = try('LREM', recent, '1', entry)\n" +
    "  if type(removed) == 'number' then\n" +
    "    local isTouch = byte(signs, index) == TOUCH\n" +
    "    if not isTouch or call('LPUSH', recent, entry) > capacity then\n" +
    "      call('LTRIM', recent, '0', last)\n" +
    "    end\n" +
    "    if recents[index + 1] ~= recent then\n" +
    "      call('PEXPIRE', recent, idleMs)\n" +
    "    end\n" +
    "  end\n" +
    "  found[index] = removed\n" +
    "end\n" +
    "return found\n",
} as const);

export const recentContactsComplete = new Script({
  name: "recent-contacts.complete",
  isReadOnly: true,
  keys: ["contacts"],
  args: ["isRanked","prefix","limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Finds the contacts whose normalized form begins with a prefix.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   contacts   LIST of entries, the last touched first, or ZSET entry -> rank; until it is empty or idle\n" +
    "-- ARGV\n" +
    "--   isRanked   1 for a ZSET, else 0\n" +
    "--   prefix     normalized text; empty: every contact matches\n" +
    "--   limit      the most contacts to return\n" +
    "-- RETURNS\n" +
    "--   the contacts as they were touched, the last touched or the best first\n" +
    "local contacts = KEYS[1]\n" +
    "local isRanked, prefix, limit = ARGV[1] == '1', ARGV[2], tonumber(ARGV[3])\n" +
    "\n" +
    "local sub, find, length = string.sub, string.find, #prefix\n" +
    "local matches = {}\n" +
    "local entries = redis.call(isRanked and 'ZRANGE' or 'LRANGE', contacts, 0, -1)\n" +
    "for index = 1, #entries do\n" +
    "  local entry = entries[index]\n" +
    "  if sub(entry, 1, length) == prefix then\n" +
    "    local separator = find(entry, '\\0', 1, true)\n" +
    "    matches[#matches + 1] = separator and sub(entry, separator + 1) or entry\n" +
    "    if #matches == limit then\n" +
    "      break\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "return matches\n",
} as const);

export const recentContactsRank = new Script({
  name: "recent-contacts.rank",
  isReadOnly: false,
  keys: [],
  args: ["capacity","halfLifeMs","idleMs","nowMs","signs"],
  restKey: "rankeds",
  restArg: "entries",
  source: "#!lua\n" +
    "-- Raises the frecency of users' contacts or takes them out, one after the other. As with lists, many users share a call.\n" +
    "--\n" +
    "-- The frecency of a contact is the sum of 2^(-age / half-life) over all its touches. What is stored is its logarithm, moved to\n" +
    "-- a fixed point of time: while time goes by all frecencies sink alike, so no order changes and nothing is rewritten.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   rankeds...  for each change: ZSET entry -> rank, which is -round(1000 * (log2(frecency) + now / half-life)); until it is empty or\n" +
    "--               idle\n" +
    "-- ARGV\n" +
    "--   capacity    the most entries that stay\n" +
    "--   halfLifeMs  a touch counts half after so long, ms\n" +
    "--   idleMs      ms until contacts that nobody changes go away\n" +
    "--   nowMs       the time, ms; nothing: that of the server. Only tests give it\n" +
    "--   signs       one character for each change: '+' (touch) or '-' (remove)\n" +
    "--   entries...  one for each change\n" +
    "-- RETURNS\n" +
    "--   for each change an integer: 1 if the entry was there, else 0; or an error, where the key is no ZSET: nothing of it is changed\n" +
    "local rankeds = KEYS\n" +
    "local capacity, halfLifeMs, idleMs, signs = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[5]\n" +
    "local nowMs = tonumber(ARGV[4])\n" +
    "\n" +
    "-- Whole numbers take 4 bytes where fractions take 17. A thousandth of a half-life is finer than what anybody notices.\n" +
    "local UNITS = 1000\n" +
    "if not nowMs then\n" +
    "  local time = redis.call('TIME')\n" +
    "  nowMs = time[1] * 1000 + time[2] / 1000\n" +
    "end\n" +
    "local now = nowMs / halfLifeMs\n" +
    "-- The rank of the first one that has to go for a new one.\n" +
    "local last = string.format('%d', capacity - 1)\n" +
    "\n" +
    "-- log2(2^a + 2^b), without powers that overflow when a clock was set back.\n" +
    "local function logOfSum(a, b)\n" +
    "  local high, low = math.max(a, b), math.min(a, b)\n" +
    "  return high + math.log(1 + 2 ^ (low - high)) / math.log(2)\n" +
    "end\n" +
    "\n" +
    "local function touch(ranked, entry)\n" +
    "  local rank = redis.call('ZSCORE', ranked, entry)\n" +
    "  local sum = now\n" +
    "  if rank then\n" +
    "    sum = logOfSum(-rank / UNITS, now)\n" +
    "  else\n" +
    "    -- Before it comes in, so that the new one stays whatever its rank, and the set never has one more than a list may.\n" +
    "    redis.call('ZREMRANGEBYRANK', ranked, last, '-1')\n" +
    "  end\n" +
    "  redis.call('ZADD', ranked, string.format('%.0f', -UNITS * sum), entry)\n" +
    "  return rank and 1 or 0\n" +
    "end\n" +
    "\n" +
    "local found = {}\n" +
    "local cut\n" +
    "for index = 1, #rankeds do\n" +
    "  local ranked, entry = rankeds[index], ARGV[index + 5]\n" +
    "  if rankeds[index - 1] ~= ranked then\n" +
    "    -- What the set has beyond its capacity, if that was higher once; or why it is no set.\n" +
    "    cut = redis.pcall('ZREMRANGEBYRANK', ranked, capacity, '-1')\n" +
    "  end\n" +
    "  if type(cut) ~= 'number' then\n" +
    "    found[index] = cut\n" +
    "  else\n" +
    "    local isTouch = signs:sub(index, index) == '+'\n" +
    "    found[index] = isTouch and touch(ranked, entry) or redis.call('ZREM', ranked, entry)\n" +
    "    if rankeds[index + 1] ~= ranked then\n" +
    "      redis.call('PEXPIRE', ranked, idleMs)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "return found\n",
} as const);
