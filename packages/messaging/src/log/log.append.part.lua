-- Appends messages, each with the next id, unless the id that its author gave it is known; then drops the oldest ones while
-- there are more, larger or older ones than the log may keep. Nothing is refused any more from here on.
-- Expects:
--   log, ids, oldIds            keys
--   now                         the server's time, ms since 1970
--   epoch, last, lastAt, bytes  the head, all positive; bytes is of no matter while the log is empty
--   retentionMs, dedupMs, maxMessages, maxBytes
--   kind                        of the entries: '' a message, E, D
--   count                       how many there are of
--   fields, authors, bodies     arrays: what they are known by, who they are from, what is behind the first NUL
-- Leaves the head as it is now, for the script to write when fresh > 0: last, lastAt, bytes; lastText and momentText, the first
-- two of them as text, since making a number a string costs more than a command's argument does otherwise; and:
--   outcomes                    array: the id; -id of one that was there before
--   fresh, entries              how many were appended, and they
--   stored                      how many are in the log; nil when fresh is 0
--   droppedFrom, droppedTo      ids; 0 and 0 when none were dropped
--
-- Ids are remembered in two generations, by windows of dedupMs since the epoch. The field '' of a generation is where its
-- window begins, so that nothing has to be asked of Redis but what is looked up anyway. In the same way the time to live of
-- the log and the age of its oldest entries are seen to when a 64th of retentionMs begins.
--
-- One call drops no more than so many, which takes the server about 1 ms: where there are more, since a limit was lowered or
-- because many grew old at once, the next calls go on. To know of the latter, every 32nd message looks at the oldest one.
local MOST_IDS, MANY_IDS, WINDOWS, MOST_DROPPED = 9500, 32, 64, 1000
-- Redis looks through a hash of short fields from one end to the other; one with this field gets an index.
local LONG_FIELD = '-----------------------------------------------------------------'

local known = redis.call('HMGET', ids, '', unpack(fields))
local older = redis.call('HMGET', oldIds, unpack(fields))
-- The clock of a new master may be behind.
local moment = now - epoch
if moment < lastAt then
  moment = lastAt
end
-- Not `moment .. ''`, which takes longer, and says 1e+14 of so large a number.
local lastText, momentText = nil, string.format('%d', moment)
local stamp = ':' .. kind .. momentText .. ':'
local outcomes, entries, noted
local fresh, added, stored, droppedFrom, droppedTo = 0, 0, nil, 0, 0
if count == 1 then
  -- What most calls are. A table that is made with what it holds costs half of one that grows.
  local id = known[2] or older[1]
  if id then
    outcomes = { -id }
  else
    last = last + 1
    lastText = string.format('%d', last)
    local entry = lastText .. stamp .. authors[1] .. '\0' .. bodies[1]
    fresh, added = 1, #entry
    entries, outcomes = { entry }, { last }
  end
else
  local seen = {}
  outcomes, entries, noted = {}, {}, {}
  for i = 1, count do
    local field = fields[i]
    local id = known[i + 1] or older[i] or seen[field]
    if id then
      outcomes[i] = -id
    else
      last = last + 1
      lastText = string.format('%d', last)
      local entry = lastText .. stamp .. authors[i] .. '\0' .. bodies[i]
      fresh = fresh + 1
      entries[fresh] = entry
      added = added + #entry
      noted[2 * fresh - 1], noted[2 * fresh] = field, lastText
      seen[field] = lastText
      outcomes[i] = last
    end
  end
end

if fresh > 0 then
  local window = moment - moment % dedupMs
  local isNth = last % MANY_IDS < fresh
  local size = isNth and redis.call('HLEN', ids) + fresh or 0
  if tonumber(known[1]) ~= window or size > MOST_IDS then
    if known[1] then
      -- RENAME would free a large hash at once.
      redis.call('UNLINK', oldIds)
      redis.call('RENAME', ids, oldIds)
    end
    redis.call('HSET', ids, '', window)
    redis.call('PEXPIRE', ids, 2 * dedupMs)
    size = fresh
  end
  if size > MANY_IDS then
    redis.call('HSET', ids, LONG_FIELD, '')
    redis.call('HDEL', ids, LONG_FIELD)
  end
  if count == 1 then
    redis.call('HSET', ids, fields[1], lastText)
    stored = redis.call('RPUSH', log, entries[1])
  else
    redis.call('HSET', ids, unpack(noted))
    stored = redis.call('RPUSH', log, unpack(entries))
  end

  bytes = stored == fresh and added or bytes + added
  local step = retentionMs / WINDOWS
  local isDue = stored == fresh or moment - moment % step ~= lastAt - lastAt % step
  lastAt = moment
  if isDue then
    redis.call('PEXPIRE', log, math.ceil(retentionMs + step))
  end
  isDue = isDue or isNth
  if isDue and stored > 1 or stored > maxMessages or bytes > maxBytes then
    local before = stored
    local kept = stored - MOST_DROPPED
    if stored > maxMessages then
      local popped = redis.call('LPOP', log, math.min(stored - maxMessages, MOST_DROPPED))
      for i = 1, #popped do
        bytes = bytes - #popped[i]
      end
      stored = stored - #popped
    end
    local oldest = isDue and redis.call('LINDEX', log, 0)
    while
      stored > 1
      and stored > kept
      and (bytes > maxBytes or oldest and moment - string.match(oldest, '^%d+:%a?(%d+)') >= retentionMs)
    do
      bytes = bytes - #redis.call('LPOP', log)
      stored = stored - 1
      oldest = isDue and redis.call('LINDEX', log, 0)
    end
    if stored < before then
      droppedFrom, droppedTo = last - before + 1, last - stored
    end
  end
end
