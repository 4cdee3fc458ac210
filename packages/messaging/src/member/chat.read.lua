#!lua flags=allow-oom
-- Reads a part of a log at one instant, without the places of deleted messages. Ids are dense, so the index of an entry in
-- the list is its id less the first one. Not flagged as one that only reads, so that it is always the master that answers: a
-- replica may not know the cursor yet.
--
-- KEYS
--   chat         ZSET: the head; member -> cursor and role; until the last member leaves
--   log          LIST of `<id>:<kind><ms since the epoch>:<payload>`, the oldest first; until acked by all, dropped or too old
--   uncounted    ZSET id -> id: what doesn't count as unread; with its entries
-- ARGV
--   member       who reads from their cursor on, encoded; or '', for whom it goes by the next three alone
--   after        only higher ids
--   before       only lower ids; 0: all
--   isLatest     1: the last ones of these; 0: the first ones
--   limit        entries at most
--   maxScan      entries at most that are looked at
--   maxBytes     of entries at most, but for the first one
-- RETURNS
--   nil when there is no such chat, or the member isn't in it; else { epoch, last id, score of the member (or 0), as text,
--   base: ids up to this one are gone, number of unread messages behind the cursor, how far it looked: nothing is left
--   between there and where it began, entries with ascending ids }
local chat, log, uncounted = KEYS[1], KEYS[2], KEYS[3]
local member, after, before = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local isLatest, limit, maxScan, maxBytes = ARGV[4] == '1', tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local head = redis.call('ZMSCORE', chat, '\0l', '\0e', member)
if not head[1] or (member ~= '' and not head[3]) then
  return nil
end
local last, score = -head[1], head[3] or '0'
local base = last - redis.call('LLEN', log)
local unread = 0
if member ~= '' then
  local cursor = math.floor(tonumber(score))
  local floor = math.max(cursor, base)
  after = math.max(after, cursor)
  unread = last - floor - redis.call('ZCOUNT', uncounted, '(' .. string.format('%.0f', floor), '+inf')
end

-- What is looked at next lies behind `low` and before `high`.
local low = math.max(after, base)
local high = last + 1
if before > 0 and before < high then
  high = before
end
-- Large ones, of which few fit, are read by few.
local step = math.min(math.max(limit, 100), math.max(math.floor(maxBytes / 1024), 1))
local entries, count, scanned, bytes = {}, 0, 0, 0
while count < limit and bytes <= maxBytes and scanned < maxScan and high - low > 1 do
  local first, final = low + 1, math.min(low + step, high - 1)
  if isLatest then
    first, final = math.max(high - step, low + 1), high - 1
  end
  local read = redis.call('LRANGE', log, first - base - 1, final - base - 1)
  for index = 1, #read do
    local entry = read[isLatest and #read + 1 - index or index]
    local isDeleted = string.byte(entry, string.find(entry, ':', 1, true) + 1) == 88
    if not isDeleted then
      bytes = bytes + #entry
      if bytes > maxBytes and count > 0 then
        break
      end
    end
    if isLatest then
      high = high - 1
    else
      low = low + 1
    end
    if not isDeleted then
      count = count + 1
      entries[count] = entry
      if count == limit then
        break
      end
    end
  end
  scanned = scanned + final - first + 1
end
if isLatest then
  for index = 1, count / 2 do
    entries[index], entries[count + 1 - index] = entries[count + 1 - index], entries[index]
  end
end
local reached = low
if isLatest then
  reached = high
end
return { -head[2], last, score, base, unread, reached, entries }
