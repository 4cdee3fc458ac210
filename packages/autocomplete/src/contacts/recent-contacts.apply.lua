#!lua
-- Moves contacts to the head of users' lists or removes them, one after another, and keeps each list within its capacity.
--
-- Most of the cost of a touch is the call, so many users share one. On a Cluster a call has one user.
--
-- KEYS
--   recents...  for each change: LIST of entries, the last touched first, and a body (see recent-contacts.body.part.lua); until it is
--               empty, or keepMs after its last change
-- ARGV
--   capacity    maximum of contacts of a user
--   keepMs      lifetime of a list after its last change, ms
--   signs       one character for each change: '+' (touch) or '-' (remove)
--   entries...  one for each change
-- RETURNS
--   for each removal 1 if the entry was there, else 0; for each touch 0; or an error if the key is not a list, and nothing is changed
local recents = KEYS
local capacity, keepMs, signs = tonumber(ARGV[1]), ARGV[2], ARGV[3]

local call, try, concat = redis.call, redis.pcall, table.concat
local byte, find, format, sub = string.byte, string.find, string.format, string.sub

-- include recent-contacts.body.part.lua

local TOUCH = byte('+')
-- More elements are folded into the body. There are no more of them than the capacity, so entries over the capacity are in the body.
local mostElements = math.min(LOG, capacity)
local NO_BODY = string.rep(' ', FIRST - 1) .. BETWEEN

-- The different entries of a list, the body without them, and the number of those that it had.
local function without(entries, body)
  local known, places, lengths, count = {}, {}, {}, 0
  local different = { [0] = '' }
  for i = 1, #entries do
    local entry = entries[i]
    if not known[entry] then
      known[entry], different[#different + 1] = true, entry
      local at, to = find(body, BETWEEN .. entry .. BETWEEN, FIRST, true)
      if at then
        count = count + 1
        places[count], lengths[at] = at, to - at
      end
    end
  end
  table.sort(places)
  local from = FIRST
  for i = 1, count do
    local at = places[i]
    places[i], from = sub(body, from, at - 1), at + lengths[at]
  end
  places[count + 1] = sub(body, from)
  return different, concat(places), count
end

-- The positions of byte 255 in the last part of a text, which has the number of last entries at least; or in all of it.
local function lastPlaces(text, entries, wanted)
  local places, from = {}, math.max(1, #text - 2 * wanted * math.ceil(#text / entries))
  local at = find(text, BETWEEN, from, true)
  while at do
    places[#places + 1] = at
    at = find(text, BETWEEN, at + 1, true)
  end
  return (#places > wanted or from == 1) and places or lastPlaces(text, entries, 2 * wanted)
end

-- Replaces a list by a body of its entries, without one of them if it is given. Returns the number of entries that this one had.
local function fold(recent, removed)
  local elements = call('LRANGE', recent, '0', '-1')
  local body = takeBody(elements)
  local entries, rest, copies = without(elements, body or NO_BODY)
  local count = #entries + (body and tonumber(sub(body, COUNT, TAIL - 1)) or 0) - copies
  -- The first of them is an empty text, so this begins with byte 255.
  local text = concat(entries, BETWEEN, 0) .. rest
  local over = math.max(0, count - capacity)
  local places = lastPlaces(text, count, LOG + over)
  local last = #places - over
  if over > 0 then
    text, count = sub(text, 1, places[last]), capacity
  end
  local found = 0
  if removed then
    local _
    _, text, found = without({ removed }, string.rep(' ', FIRST - 1) .. text)
    -- An earlier tail is right as well.
    count, last = count - found, found == 0 and last or 0
  end
  call('DEL', recent)
  if count > 0 then
    call('RPUSH', recent, format('\255%04d%07d', count, FIRST - 1 + (places[last - LOG] or 1)) .. text)
  end
  return found
end

local found = {}
for index = 1, #recents do
  local recent, entry = recents[index], ARGV[index + 3]
  local isTouch = byte(signs, index) == TOUCH
  local length = isTouch and try('LPUSH', recent, entry) or try('LLEN', recent)
  found[index] = length
  if type(length) == 'number' then
    found[index] = 0
    if not isTouch then
      found[index] = length > 0 and fold(recent, entry) or 0
    elseif length > mostElements then
      fold(recent)
    end
    if recents[index + 1] ~= recent then
      call('PEXPIRE', recent, keepMs)
    end
  end
end
return found
