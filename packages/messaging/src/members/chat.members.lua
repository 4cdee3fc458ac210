#!lua flags=no-writes
-- A page of the members of a chat. A small set is paged by name, which is exact. A large one is paged by ZSCAN, which
-- returns each remaining member at least once; a page may exceed its limit.
--
-- KEYS
--   chat         ZSET: the head; member -> cursor and role; until the last member leaves
-- ARGV
--   cursor       '' for the first page; else 'n' and the last name of the page before, or 's' and the cursor of ZSCAN
--   limit        members; approximate for a large set
--   maxSorted    the largest set that is paged by name
-- RETURNS
--   nil when there is no such chat; else { the next cursor, or '' at the end; member, score, … }
local chat = KEYS[1]
local cursor, limit, maxSorted = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local size = redis.call('ZCARD', chat)
if size == 0 then
  return nil
end
local kind, from = string.sub(cursor, 1, 1), string.sub(cursor, 2)

if kind ~= 's' and size - 4 <= maxSorted then
  local read = redis.call('ZRANGE', chat, 4, -1, 'WITHSCORES')
  local names, scores = {}, {}
  for index = 1, #read, 2 do
    if read[index] > from then
      names[#names + 1] = read[index]
      scores[read[index]] = read[index + 1]
    end
  end
  table.sort(names)
  local page = { #names > limit and 'n' .. names[limit] or '' }
  for index = 1, math.min(limit, #names) do
    page[2 * index] = names[index]
    page[2 * index + 1] = scores[names[index]]
  end
  return page
end

local page = { '' }
local next = kind == 's' and from or '0'
-- ZSCAN may return only the head.
repeat
  local scan = redis.call('ZSCAN', chat, next, 'COUNT', limit)
  local read = scan[2]
  next = scan[1]
  for index = 1, #read, 2 do
    if string.byte(read[index], 1) ~= 0 then
      page[#page + 1] = read[index]
      page[#page + 1] = read[index + 1]
    end
  end
until next == '0' or #page > 1
page[1] = next == '0' and '' or 's' .. next
return page
