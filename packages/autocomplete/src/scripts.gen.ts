// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const bookApply = new Script({
  name: "book.apply",
  isReadOnly: false,
  keys: ["directory","meta","cards","firstBlock","tops"],
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
    "--   meta         HASH: size (entries), blocks (the highest number); until the book is empty\n" +
    "--   cards        HASH encoded key -> forms, each behind \\1 but for the first, NUL, what Lua does not read; until the last card goes\n" +
    "--   firstBlock   ZSET member -> rank; blocks with other numbers have other ends of this name; until it is empty\n" +
    "--   tops         the beginning of the names of the top sets: ZSET member -> rank, behind it the prefix; until the prefix is light\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   scores halve in so long, ms; 0: they are as they were set\n" +
    "--   changes...   for each: add, remove or boost; the encoded key; the score, or by how much, or nothing to keep it; the card, or\n" +
    "--                nothing; how many members follow from the key, and these; with add: how many members it has, and these\n" +
    "-- RETURNS\n" +
    "--   for each: add and remove, 1 if the entry was there, else 0; boost, the new score as a string, or an empty one if it is not there\n" +
    "local directory, meta, cards, firstBlock, tops = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local halfLifeMs = tonumber(ARGV[1])\n" +
    "local changes = ARGV\n" +
    "local find = string.find\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "local function isBefore(a, b)\n" +
    "  local at = 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    at = at + 1\n" +
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
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', 0, 1)[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one code point longer, that are heavy, and the blocks that hold anything else of it.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks.\n" +
    "local function partsOf(prefix)\n" +
    "  local last = '(' .. prefix .. '\\255'\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, last, '-', 'LIMIT', 0, 2)\n" +
    "  if not entries[1] then\n" +
    "    return { firstBlock }, {}\n" +
    "  end\n" +
    "  local found, children = {}, {}\n" +
    "  for i, entry in ipairs(entries) do\n" +
    "    found[i] = keyOf(entry)\n" +
    "    if sub(entry, 1, #prefix) ~= prefix or byte(entry, #prefix + 1) == 0 then\n" +
    "      return found, children\n" +
    "    end\n" +
    "  end\n" +
    "  local entry = redis.call('ZRANGEBYLEX', directory, '(' .. prefix .. '\\1', last, 'LIMIT', 0, 1)[1]\n" +
    "  found = { (placeOf(prefix)) }\n" +
    "  while entry do\n" +
    "    local child = sub(entry, 1, endOf(entry, #prefix + 1))\n" +
    "    local behind = '(' .. entry\n" +
    "    if redis.call('EXISTS', tops .. child) == 1 then\n" +
    "      children[#children + 1] = child\n" +
    "      behind = '(' .. child .. '\\255'\n" +
    "      -- The block in which it ends may go on behind it.\n" +
    "      entry = redis.call('ZREVRANGEBYLEX', directory, behind, '-', 'LIMIT', 0, 1)[1]\n" +
    "    end\n" +
    "    found[#found + 1] = keyOf(entry)\n" +
    "    entry = redis.call('ZRANGEBYLEX', directory, behind, last, 'LIMIT', 0, 1)[1]\n" +
    "  end\n" +
    "  return found, children\n" +
    "end\n" +
    "-- The best members that have a prefix, exactly.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "-- Adds the best of a sorted set that have the prefix and come behind a member, up to a number. `seen` may be nil.\n" +
    "-- The members are looked through as one text, each behind a control character that none has: a search for each would cost\n" +
    "-- three times as much.\n" +
    "local function take(key, prefix, most, after, into, seen)\n" +
    "  local all = redis.call('ZRANGE', key, 0, -1)\n" +
    "  if #all == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local text = '\\2' .. table.concat(all, '\\2')\n" +
    "  local names, wanted = {}, '\\2' .. prefix\n" +
    "  local from = find(text, wanted, 1, true)\n" +
    "  while from and (#names < most or after) do\n" +
    "    local to = find(text, '\\2', from + 1, true)\n" +
    "    local member = sub(text, from + 1, (to or 0) - 1)\n" +
    "    if not (seen and seen[member]) then\n" +
    "      names[#names + 1] = member\n" +
    "    end\n" +
    "    from = to and find(text, wanted, to, true)\n" +
    "  end\n" +
    "  -- Most of a block is not asked for, so neither are its ranks.\n" +
    "  local ranks, left = #names > 0 and redis.call('ZMSCORE', key, unpack(names)), most\n" +
    "  for i, member in ipairs(names) do\n" +
    "    local one = { member = member, rank = tonumber(ranks[i]), text = ranks[i] }\n" +
    "    if left > 0 and (not after or precedes(after, one)) then\n" +
    "      into[#into + 1], left = one, left - 1\n" +
    "      if seen then\n" +
    "        seen[member] = true\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
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
    "  for _, key in ipairs(places) do\n" +
    "    take(key, prefix, most, after, found, seen)\n" +
    "  end\n" +
    "  for i, child in ipairs(children) do\n" +
    "    local top = tops .. child\n" +
    "    take(top, child, most, after, found, seen)\n" +
    "    local last = redis.call('ZRANGE', top, -1, -1, 'WITHSCORES')\n" +
    "    lasts[i] = { member = last[1], rank = tonumber(last[2]) }\n" +
    "  end\n" +
    "  table.sort(found, precedes)\n" +
    "  local worst = found[most]\n" +
    "  for i, child in ipairs(children) do\n" +
    "    -- It may have more that belongs here than its top set tells.\n" +
    "    if not worst or precedes(lasts[i], worst) then\n" +
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
    "-- The best members with a prefix, in the order of rank, behind a member if one is given.\n" +
    "function ranked(prefix, most, after)\n" +
    "  local found, top = {}, tops .. prefix\n" +
    "  if after then\n" +
    "    take(top, prefix, most, after, found)\n" +
    "  else\n" +
    "    local list = redis.call('ZRANGE', top, 0, most - 1, 'WITHSCORES')\n" +
    "    for i = 1, #list, 2 do\n" +
    "      found[#found + 1] = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    end\n" +
    "  end\n" +
    "  return #found == most and found or expand(prefix, most, after)\n" +
    "end\n" +
    "-- The top sets. One holds the best members of its prefix without a gap: whatever ranks before its last member is in it. So\n" +
    "-- the last member is the floor: what comes above it goes in, what falls below it goes out, and nothing else is known.\n" +
    "-- Expects: book.ranked.part.lua before it.\n" +
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
    "-- From what it consists of. Its heavy parts have their top sets. There is nothing if the block within it has lost its last\n" +
    "-- member, and is about to go.\n" +
    "local function build(prefix)\n" +
    "  local found = expand(prefix, MIDDLE_TOP)\n" +
    "  if #found > 0 then\n" +
    "    append(tops .. prefix, found)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Tells the top sets of a member where it ranks now; without a rank it is gone. One that is new may be the first of its rank in\n" +
    "-- a set that had too few.\n" +
    "local function settle(member, rank, isNew)\n" +
    "  local thin, cut = {}, 0\n" +
    "  local one = { member = member, rank = rank }\n" +
    "  while true do\n" +
    "    local prefix = sub(member, 1, cut)\n" +
    "    local top = tops .. prefix\n" +
    "    local last = redis.call('ZRANGE', top, -1, -1, 'WITHSCORES')\n" +
    "    if #last == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local isIn = rank and not precedes({ member = last[1], rank = tonumber(last[2]) }, one)\n" +
    "    if isIn then\n" +
    "      if redis.call('ZADD', top, rank, member) == 1 and redis.call('ZCARD', top) > MOST_TOP then\n" +
    "        redis.call('ZREMRANGEBYRANK', top, MIDDLE_TOP, -1)\n" +
    "      end\n" +
    "    elseif (isNew or redis.call('ZREM', top, member) == 1) and redis.call('ZCARD', top) < LEAST_TOP then\n" +
    "      thin[#thin + 1] = prefix\n" +
    "    end\n" +
    "    if cut == #member then\n" +
    "      break\n" +
    "    end\n" +
    "    cut = endOf(member, cut + 1)\n" +
    "  end\n" +
    "  -- The longest first: the others are made from them.\n" +
    "  for i = #thin, 1, -1 do\n" +
    "    build(thin[i])\n" +
    "  end\n" +
    "end\n" +
    "-- Blocks that grow too large or too small.\n" +
    "-- Expects: book.tops.part.lua before it, meta.\n" +
    "\n" +
    "-- The listpack of a sorted set ends at 128 members, by the server's default.\n" +
    "local MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 40, 8, 30\n" +
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
    "    cut = endOf(start, cut + 1)\n" +
    "  end\n" +
    "  for i = #found, 1, -1 do\n" +
    "    act(found[i])\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function split(key)\n" +
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
    "    upper[#upper + 1], names[#names + 1] = all[i], all[i].member\n" +
    "  end\n" +
    "  local id = redis.call('HINCRBY', meta, 'blocks', 1)\n" +
    "  -- The block that a book begins with has an entry as soon as there is another one.\n" +
    "  redis.call('ZADD', directory, 0, '\\0000', 0, start .. '\\0' .. id)\n" +
    "  append(blocks .. id, upper)\n" +
    "  redis.call('ZREM', key, unpack(names))\n" +
    "  eachPrefixWith(start, 2, build)\n" +
    "end\n" +
    "\n" +
    "-- Takes the block of an entry into the one before it.\n" +
    "local function join(into, from, entry)\n" +
    "  local moved = contentOf(from)\n" +
    "  if #moved > 0 then\n" +
    "    append(into, moved)\n" +
    "    redis.call('DEL', from)\n" +
    "  end\n" +
    "  redis.call('ZREM', directory, entry)\n" +
    "  eachPrefixWith(sub(entry, 1, find(entry, '\\0', 1, true) - 1), 1, function(prefix)\n" +
    "    redis.call('DEL', tops .. prefix)\n" +
    "  end)\n" +
    "  if redis.call('ZCARD', directory) == 1 then\n" +
    "    redis.call('DEL', directory)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A block from which something was taken joins a neighbour if both are small.\n" +
    "local function shrink(key, entry)\n" +
    "  local count = redis.call('ZCARD', key)\n" +
    "  if not entry or count >= LEAST_BLOCK then\n" +
    "    return\n" +
    "  end\n" +
    "  local next = redis.call('ZRANGEBYLEX', directory, '(' .. entry, '+', 'LIMIT', 0, 1)[1]\n" +
    "  local previous = redis.call('ZREVRANGEBYLEX', directory, '(' .. entry, '-', 'LIMIT', 0, 1)[1]\n" +
    "  if previous and (count == 0 or count + redis.call('ZCARD', keyOf(previous)) <= MERGED_BLOCK) then\n" +
    "    join(keyOf(previous), key, entry)\n" +
    "  elseif next and (count == 0 or count + redis.call('ZCARD', keyOf(next)) <= MERGED_BLOCK) then\n" +
    "    join(key, keyOf(next), next)\n" +
    "  end\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS = 1000\n" +
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
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or 2 ^ (-rank / UNITS - halfLives)\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  local LARGEST = 1.7976931348623157e308\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "\n" +
    "local function put(member, rank)\n" +
    "  local key = placeOf(member)\n" +
    "  local isNew = redis.call('ZADD', key, rank, member) == 1\n" +
    "  if isNew and redis.call('ZCARD', key) > MOST_BLOCK then\n" +
    "    split(key)\n" +
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
    "  local rank = redis.call('ZSCORE', (placeOf(members[1])), members[1])\n" +
    "  local reply = rank and 1 or 0\n" +
    "  if what == 'add' then\n" +
    "    local wanted, keep = readMembers(), {}\n" +
    "    local now = amount ~= '' and rankOf(tonumber(amount)) or rank or rankOf(0)\n" +
    "    for _, member in ipairs(wanted) do\n" +
    "      keep[member] = true\n" +
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
    "    for _, member in ipairs(wanted) do\n" +
    "      put(member, now)\n" +
    "    end\n" +
    "    if card ~= '' then\n" +
    "      redis.call('HSET', cards, id, card)\n" +
    "    elseif old then\n" +
    "      redis.call('HDEL', cards, id)\n" +
    "    end\n" +
    "  elseif not rank then\n" +
    "    reply = what == 'boost' and '' or 0\n" +
    "  elseif what == 'remove' then\n" +
    "    for _, member in ipairs(members) do\n" +
    "      drop(member)\n" +
    "    end\n" +
    "    if old then\n" +
    "      redis.call('HDEL', cards, id)\n" +
    "    end\n" +
    "    if redis.call('HINCRBY', meta, 'size', -1) == 0 then\n" +
    "      redis.call('DEL', meta)\n" +
    "    end\n" +
    "  else\n" +
    "    local boosted = boost(tonumber(rank), tonumber(amount))\n" +
    "    for _, member in ipairs(members) do\n" +
    "      put(member, boosted)\n" +
    "    end\n" +
    "    reply = string.format('%.17g', scoreOf(tonumber(boosted)))\n" +
    "  end\n" +
    "  replies[#replies + 1] = reply\n" +
    "end\n" +
    "return replies\n",
} as const);

export const bookComplete = new Script({
  name: "book.complete",
  isReadOnly: true,
  keys: ["directory","cards","firstBlock","tops"],
  args: ["halfLifeMs","prefix","limit","afterRank","afterMember"],
  source: "#!lua flags=no-writes\n" +
    "-- Finds the best entries that have a form with a prefix.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   directory    see book.apply.lua\n" +
    "--   cards        see book.apply.lua\n" +
    "--   firstBlock   see book.apply.lua\n" +
    "--   tops         see book.apply.lua\n" +
    "-- ARGV\n" +
    "--   halfLifeMs   as for book.apply.lua\n" +
    "--   prefix       a prefix of forms; empty: all have it\n" +
    "--   limit        the most entries\n" +
    "--   afterRank    the rank of the last one of the page before, or nothing\n" +
    "--   afterMember  its member\n" +
    "-- RETURNS\n" +
    "--   an array with the member by which each entry was found, and its rank behind it, the best first; then an array with the card of\n" +
    "--   each or an empty string, and how many half-lives the server's clock counts, 0 without. The first array alone if no entry has\n" +
    "--   a card and there is no half-life\n" +
    "local directory, cards, firstBlock, tops = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local halfLifeMs, prefix, limit = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])\n" +
    "local afterRank, afterMember = ARGV[4], ARGV[5]\n" +
    "\n" +
    "-- Most calls end here: a heavy prefix of a book of handles. So nothing is prepared before.\n" +
    "local find = string.find\n" +
    "local top = redis.call('ZRANGE', tops .. prefix, 0, limit - 1, 'WITHSCORES')\n" +
    "if #top == 2 * limit and afterRank == '' and halfLifeMs == 0 then\n" +
    "  if not find(table.concat(top), '\\1', 1, true) then\n" +
    "    return { top }\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Where the members of a book are. Bytes are compared by hand: `<` on strings follows the locale of the server.\n" +
    "-- Expects: directory, firstBlock, tops, find.\n" +
    "local sub, byte = string.sub, string.byte\n" +
    "local blocks = sub(firstBlock, 1, -2)\n" +
    "\n" +
    "local function isBefore(a, b)\n" +
    "  local at = 1\n" +
    "  while true do\n" +
    "    local x, y = byte(a, at), byte(b, at)\n" +
    "    if x ~= y then\n" +
    "      return (x or -1) < (y or -1)\n" +
    "    elseif not x then\n" +
    "      return false\n" +
    "    end\n" +
    "    at = at + 1\n" +
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
    "local function keyOf(entry)\n" +
    "  return blocks .. sub(entry, find(entry, '\\0', 1, true) + 1)\n" +
    "end\n" +
    "\n" +
    "-- The block that a member belongs to, and its entry in the directory; a book of one block has none.\n" +
    "local function placeOf(member)\n" +
    "  local entry = redis.call('ZREVRANGEBYLEX', directory, '(' .. member .. '\\1', '-', 'LIMIT', 0, 1)[1]\n" +
    "  return entry and keyOf(entry) or firstBlock, entry\n" +
    "end\n" +
    "\n" +
    "-- What a prefix consists of: the prefixes, one code point longer, that are heavy, and the blocks that hold anything else of it.\n" +
    "-- A prefix is heavy, and has a top set, when two blocks or more begin behind where it begins. A light one has no heavy ones\n" +
    "-- in it, and one or two blocks.\n" +
    "local function partsOf(prefix)\n" +
    "  local last = '(' .. prefix .. '\\255'\n" +
    "  local entries = redis.call('ZREVRANGEBYLEX', directory, last, '-', 'LIMIT', 0, 2)\n" +
    "  if not entries[1] then\n" +
    "    return { firstBlock }, {}\n" +
    "  end\n" +
    "  local found, children = {}, {}\n" +
    "  for i, entry in ipairs(entries) do\n" +
    "    found[i] = keyOf(entry)\n" +
    "    if sub(entry, 1, #prefix) ~= prefix or byte(entry, #prefix + 1) == 0 then\n" +
    "      return found, children\n" +
    "    end\n" +
    "  end\n" +
    "  local entry = redis.call('ZRANGEBYLEX', directory, '(' .. prefix .. '\\1', last, 'LIMIT', 0, 1)[1]\n" +
    "  found = { (placeOf(prefix)) }\n" +
    "  while entry do\n" +
    "    local child = sub(entry, 1, endOf(entry, #prefix + 1))\n" +
    "    local behind = '(' .. entry\n" +
    "    if redis.call('EXISTS', tops .. child) == 1 then\n" +
    "      children[#children + 1] = child\n" +
    "      behind = '(' .. child .. '\\255'\n" +
    "      -- The block in which it ends may go on behind it.\n" +
    "      entry = redis.call('ZREVRANGEBYLEX', directory, behind, '-', 'LIMIT', 0, 1)[1]\n" +
    "    end\n" +
    "    found[#found + 1] = keyOf(entry)\n" +
    "    entry = redis.call('ZRANGEBYLEX', directory, behind, last, 'LIMIT', 0, 1)[1]\n" +
    "  end\n" +
    "  return found, children\n" +
    "end\n" +
    "-- The best members that have a prefix, exactly.\n" +
    "-- Expects: book.places.part.lua before it.\n" +
    "\n" +
    "-- Adds the best of a sorted set that have the prefix and come behind a member, up to a number. `seen` may be nil.\n" +
    "-- The members are looked through as one text, each behind a control character that none has: a search for each would cost\n" +
    "-- three times as much.\n" +
    "local function take(key, prefix, most, after, into, seen)\n" +
    "  local all = redis.call('ZRANGE', key, 0, -1)\n" +
    "  if #all == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local text = '\\2' .. table.concat(all, '\\2')\n" +
    "  local names, wanted = {}, '\\2' .. prefix\n" +
    "  local from = find(text, wanted, 1, true)\n" +
    "  while from and (#names < most or after) do\n" +
    "    local to = find(text, '\\2', from + 1, true)\n" +
    "    local member = sub(text, from + 1, (to or 0) - 1)\n" +
    "    if not (seen and seen[member]) then\n" +
    "      names[#names + 1] = member\n" +
    "    end\n" +
    "    from = to and find(text, wanted, to, true)\n" +
    "  end\n" +
    "  -- Most of a block is not asked for, so neither are its ranks.\n" +
    "  local ranks, left = #names > 0 and redis.call('ZMSCORE', key, unpack(names)), most\n" +
    "  for i, member in ipairs(names) do\n" +
    "    local one = { member = member, rank = tonumber(ranks[i]), text = ranks[i] }\n" +
    "    if left > 0 and (not after or precedes(after, one)) then\n" +
    "      into[#into + 1], left = one, left - 1\n" +
    "      if seen then\n" +
    "        seen[member] = true\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
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
    "  for _, key in ipairs(places) do\n" +
    "    take(key, prefix, most, after, found, seen)\n" +
    "  end\n" +
    "  for i, child in ipairs(children) do\n" +
    "    local top = tops .. child\n" +
    "    take(top, child, most, after, found, seen)\n" +
    "    local last = redis.call('ZRANGE', top, -1, -1, 'WITHSCORES')\n" +
    "    lasts[i] = { member = last[1], rank = tonumber(last[2]) }\n" +
    "  end\n" +
    "  table.sort(found, precedes)\n" +
    "  local worst = found[most]\n" +
    "  for i, child in ipairs(children) do\n" +
    "    -- It may have more that belongs here than its top set tells.\n" +
    "    if not worst or precedes(lasts[i], worst) then\n" +
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
    "-- The best members with a prefix, in the order of rank, behind a member if one is given.\n" +
    "function ranked(prefix, most, after)\n" +
    "  local found, top = {}, tops .. prefix\n" +
    "  if after then\n" +
    "    take(top, prefix, most, after, found)\n" +
    "  else\n" +
    "    local list = redis.call('ZRANGE', top, 0, most - 1, 'WITHSCORES')\n" +
    "    for i = 1, #list, 2 do\n" +
    "      found[#found + 1] = { member = list[i], rank = tonumber(list[i + 1]), text = list[i + 1] }\n" +
    "    end\n" +
    "  end\n" +
    "  return #found == most and found or expand(prefix, most, after)\n" +
    "end\n" +
    "-- Scores and ranks. A rank is a negated score, so that the best comes first and members of one score in the order of bytes.\n" +
    "-- With a half-life the rank is -round(1000 * (log2(score) + now / half-life)): as time goes by, all scores sink alike and\n" +
    "-- the ranks stay, so nothing has to be rewritten. A score of 0 has the rank 0.\n" +
    "-- Expects: halfLifeMs.\n" +
    "local UNITS = 1000\n" +
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
    "  return score <= 0 and '0' or string.format('%.0f', -UNITS * (log2(score) + halfLives))\n" +
    "end\n" +
    "\n" +
    "local function scoreOf(rank)\n" +
    "  if halfLifeMs == 0 then\n" +
    "    return rank == 0 and 0 or -rank\n" +
    "  end\n" +
    "  return rank == 0 and 0 or 2 ^ (-rank / UNITS - halfLives)\n" +
    "end\n" +
    "\n" +
    "local function boost(rank, by)\n" +
    "  local LARGEST = 1.7976931348623157e308\n" +
    "  return rankOf(math.max(-LARGEST, math.min(LARGEST, scoreOf(rank) + by)))\n" +
    "end\n" +
    "\n" +
    "-- An entry that is found by several of its forms is told once, by the first of them in the order of bytes.\n" +
    "local function isFirst(member, separator, card)\n" +
    "  local form, id = sub(member, 1, separator - 1), sub(member, separator)\n" +
    "  local function isAhead(other)\n" +
    "    return sub(other, 1, #prefix) == prefix and isBefore(other .. id, member)\n" +
    "  end\n" +
    "  if card then\n" +
    "    for other in string.gmatch(sub(card, 1, find(card, '\\0', 1, true) - 1), '[^\\1]+') do\n" +
    "      if isAhead(other) then\n" +
    "        return false\n" +
    "      end\n" +
    "    end\n" +
    "    return true\n" +
    "  end\n" +
    "  local space = find(form, ' ', 1, true)\n" +
    "  while space do\n" +
    "    if isAhead(sub(form, space + 1) .. ' ' .. sub(form, 1, space - 1)) then\n" +
    "      return false\n" +
    "    end\n" +
    "    space = find(form, ' ', space + 1, true)\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local replies, told, hasCards = {}, {}, false\n" +
    "local after = afterRank ~= '' and { member = afterMember, rank = tonumber(afterRank) } or nil\n" +
    "repeat\n" +
    "  local wanted = limit - #told\n" +
    "  local found, ids = ranked(prefix, wanted, after), {}\n" +
    "  for _, one in ipairs(found) do\n" +
    "    one.separator = find(one.member, '\\1', 1, true)\n" +
    "    if one.separator then\n" +
    "      ids[#ids + 1] = sub(one.member, one.separator + 1)\n" +
    "      one.at = #ids\n" +
    "    end\n" +
    "  end\n" +
    "  local known = #ids > 0 and redis.call('HMGET', cards, unpack(ids))\n" +
    "  for _, one in ipairs(found) do\n" +
    "    local card = one.separator and known[one.at]\n" +
    "    if not one.separator or isFirst(one.member, one.separator, card) then\n" +
    "      told[#told + 1], hasCards = card or '', hasCards or card\n" +
    "      replies[#replies + 1] = one.member\n" +
    "      replies[#replies + 1] = one.text\n" +
    "    end\n" +
    "  end\n" +
    "  after = found[#found]\n" +
    "until #told == limit or #found < wanted\n" +
    "if hasCards or halfLifeMs > 0 then\n" +
    "  return { replies, told, string.format('%.17g', halfLives) }\n" +
    "end\n" +
    "return { replies }\n",
} as const);

export const recentContactsApply = new Script({
  name: "recent-contacts.apply",
  isReadOnly: false,
  keys: ["recent"],
  args: ["capacity","idleMs"],
  restArg: "changes",
  source: "#!lua\n" +
    "-- Puts contacts in front of a user's list or takes them out, one after the other, and cuts the list to its capacity.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   recent      LIST of entries, the last touched first; until it is empty or idle\n" +
    "-- ARGV\n" +
    "--   capacity    the most entries that stay\n" +
    "--   idleMs      ms until a list that nobody changes goes away\n" +
    "--   changes...  one for each change: '+' (touch) or '-' (remove), then the entry\n" +
    "-- RETURNS\n" +
    "--   one integer for each change: 1 if the entry was in the list, else 0\n" +
    "local recent = KEYS[1]\n" +
    "local capacity, idleMs = tonumber(ARGV[1]), ARGV[2]\n" +
    "\n" +
    "local found = {}\n" +
    "for index = 3, #ARGV do\n" +
    "  local sign, entry = ARGV[index]:sub(1, 1), ARGV[index]:sub(2)\n" +
    "  found[#found + 1] = redis.call('LREM', recent, 1, entry)\n" +
    "  if sign == '+' then\n" +
    "    redis.call('LPUSH', recent, entry)\n" +
    "  end\n" +
    "end\n" +
    "redis.call('LTRIM', recent, 0, capacity - 1)\n" +
    "redis.call('PEXPIRE', recent, idleMs)\n" +
    "return found\n",
} as const);

export const recentContactsComplete = new Script({
  name: "recent-contacts.complete",
  isReadOnly: true,
  keys: ["recent"],
  args: ["prefix","limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Finds the contacts whose normalized form begins with a prefix.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   recent     LIST of entries, the last touched first; until it is empty or idle\n" +
    "-- ARGV\n" +
    "--   prefix     normalized text; empty: every contact matches\n" +
    "--   limit      the most contacts to return\n" +
    "-- RETURNS\n" +
    "--   the contacts in their display form, the last touched first\n" +
    "local recent = KEYS[1]\n" +
    "local prefix, limit = ARGV[1], tonumber(ARGV[2])\n" +
    "\n" +
    "local sub, find, length = string.sub, string.find, #prefix\n" +
    "local matches = {}\n" +
    "local entries = redis.call('LRANGE', recent, 0, -1)\n" +
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
