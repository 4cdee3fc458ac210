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
--   maxBytes     of entries at most; none when the first one is larger
-- RETURNS
--   nil when there is no such chat, or the member isn't in it; else { epoch, last id, score of the member (or 0), as text,
--   base: ids up to this one are gone, number of unread messages behind the cursor, how far it looked: nothing is left
--   between there and where it began, entries with ascending ids, of the one that was left for its size its bytes and its
--   instant, ms since the epoch; 0 and 0 when none was }
local chat, log, uncounted = KEYS[1], KEYS[2], KEYS[3]
local member, after, before = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local isLatest, limit, maxScan, maxBytes = ARGV[4] == '1', tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local head = redis.call('ZMSCORE', chat, '\0l', '\0e', '\0b', member)
if not head[1] or (member ~= '' and not head[4]) then
  return nil
end
local last, score = -head[1], head[4] or '0'
local stored = redis.call('LLEN', log)
local base = last - stored
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
-- As many at a time as fit if they are like the others: a LRANGE copies what it reads, also what then has to be left.
local usual, most = math.max(-head[3] / math.max(stored, 1), 1), math.max(limit, 100)
local entries, count, scanned, bytes, leftBytes, leftAt = {}, 0, 0, 0, 0, 0
while count < limit and leftBytes == 0 and scanned < maxScan and high - low > 1 do
  -- Places of deleted messages are smaller than others: more of them each time.
  local step = math.min(most, math.max(math.ceil((maxBytes - bytes) / usual), count == 0 and scanned or 1, 1))
  local first, final = low + 1, math.min(low + step, high - 1)
  if isLatest then
    first, final = math.max(high - step, low + 1), high - 1
  end
  local read = redis.call('LRANGE', log, first - base - 1, final - base - 1)
  for index = 1, #read do
    local entry = read[isLatest and #read + 1 - index or index]
    local isDeleted = string.byte(entry, string.find(entry, ':', 1, true) + 1) == 88
    if not isDeleted then
      if bytes + #entry > maxBytes then
        leftBytes, leftAt = #entry, tonumber(string.match(entry, '^%d+:%a?(%d+)')) or 0
        break
      end
      bytes = bytes + #entry
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
return { -head[2], last, score, base, unread, reached, entries, leftBytes, leftAt }
