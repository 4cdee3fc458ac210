#!lua flags=no-writes
-- Finds the contacts whose normalized form begins with a prefix. Many users share a call.
--
-- KEYS
--   contacts...  for each query: LIST of entries, the last touched first, and a body (see recent-contacts.body.part.lua), or ZSET entry ->
--                rank; until it is empty, or keepMs after its last change
-- ARGV
--   isRanked     1 for ZSETs, else 0
--   capacity     maximum of contacts of a user
--   queries...   for each: normalized text, empty: every contact matches; and the maximum of contacts to return
-- RETURNS
--   for each query the contacts, the last touched or the best first; or an error if the key has another type
local contacts = KEYS
local isRanked, capacity = ARGV[1] == '1', tonumber(ARGV[2])
local queries = ARGV

local find, sub, byte = string.find, string.sub, string.byte

-- include recent-contacts.body.part.lua

-- The position in the body from which entries are over the capacity, or copies of elements.
local function edgeOf(body, elements)
  local edge, over, isCopy, known = #body, tonumber(sub(body, COUNT, TAIL - 1)) - capacity, {}, {}
  if over + #elements <= 0 then
    return edge
  end
  for i = 1, #elements do
    local entry = elements[i]
    if not known[entry] then
      local at = find(body, BETWEEN .. entry .. BETWEEN, FIRST, true)
      over, isCopy[at or 0], known[entry] = at and over or over + 1, true, true
    end
  end
  while over > 0 do
    repeat
      edge = edge - 1
    until byte(body, edge) == 255
    over = isCopy[edge] and over or over - 1
  end
  return edge
end

local function contactIn(entry)
  local separator = find(entry, '\0', 1, true)
  return separator and sub(entry, separator + 1) or entry
end

local function matchesIn(elements, prefix, limit)
  local matches, seen, count, length = {}, {}, 0, #prefix
  local body = not isRanked and takeBody(elements)
  for i = 1, #elements do
    local entry = elements[i]
    if count < limit and sub(entry, 1, length) == prefix and not seen[entry] then
      count, seen[entry] = count + 1, true
      matches[count] = contactIn(entry)
    end
  end
  local wanted, edge = BETWEEN .. prefix, nil
  local at = body and find(body, wanted, FIRST, true)
  -- Only entries after the tail can be over the capacity for which the body was made.
  local tail = at and tonumber(sub(body, COUNT, TAIL - 1)) <= capacity and tonumber(sub(body, TAIL, FIRST - 1)) or FIRST
  while at and at < #body and count < limit do
    edge = edge or at >= tail and edgeOf(body, elements)
    if edge and at >= edge then
      break
    end
    local to = find(body, BETWEEN, at + 1, true)
    local entry = sub(body, at + 1, to - 1)
    if not seen[entry] then
      count = count + 1
      matches[count] = contactIn(entry)
    end
    at = find(body, wanted, to, true)
  end
  return matches
end

local answers = {}
for index = 1, #contacts do
  local elements = redis.pcall(isRanked and 'ZRANGE' or 'LRANGE', contacts[index], '0', '-1')
  local prefix, limit = queries[2 * index + 1], tonumber(queries[2 * index + 2])
  answers[index] = elements.err and elements or matchesIn(elements, prefix, limit)
end
return answers
