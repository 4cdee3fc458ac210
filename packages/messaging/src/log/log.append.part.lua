-- Appends messages, each with the next id, unless its key is known. Then drops the oldest entries while the log has too many,
-- too many bytes or too old ones. Refuses nothing.
-- Expects:
--   log, ids, oldIds            keys
--   now                         the server's time, ms since 1970
--   epoch, last, lastAt, bytes  the head, all positive; bytes is ignored while the log is empty
--   keepMs, dedupMs, maxMessages, maxBytes
--   kind                        of the entries: '' a message, E, D
--   count                       length of the next three
--   messageKeys, authors, bodies  arrays; a body is the part of the payload after the first NUL
-- Results: the new head, for the script to write if fresh > 0: last, lastAt, bytes; and the first two as text (lastText,
-- momentText), since Redis converts a number ten times slower than a string; and:
--   outcomes                    array: the id; -id when the key was known
--   fresh, entries              number of new entries, and the entries
--   stored                      length of the log; nil when fresh is 0
--   droppedFrom, droppedTo      ids; 0 and 0 when nothing was dropped
--
-- Message keys are remembered in two generations, by windows of dedupMs since the epoch. The field '' of a generation holds the
-- beginning of its window, so one lookup answers both questions. The expiry of the log and the age of its oldest entries are
-- checked when a 64th of keepMs begins.
--
-- One call drops MOST_DROPPED entries at most, about 1 ms of the server. Later calls drop the others: every 32nd message
-- looks at the oldest entry.
local MOST_IDS, MANY_IDS, WINDOWS, MOST_DROPPED = 9500, 32, 64, 1000
-- Redis scans a small hash of short fields; a long field makes it build an index.
local LONG_FIELD = '-----------------------------------------------------------------'

local known = redis.call('HMGET', ids, '', unpack(messageKeys))
local older = redis.call('HMGET', oldIds, unpack(messageKeys))
-- After a failover the clock of the new master may be behind.
local moment = now - epoch
if moment < lastAt then
  moment = lastAt
end
-- `moment .. ''` is slower, and turns 10^14 into 1e+14.
local lastText, momentText = nil, string.format('%d', moment)
local stamp = ':' .. kind .. momentText .. ':'
local outcomes, entries, newKeys
local fresh, added, stored, droppedFrom, droppedTo = 0, 0, nil, 0, 0
if count == 1 then
  -- The usual case. A table constructor with values costs half as much as a growing table.
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
  outcomes, entries, newKeys = {}, {}, {}
  for i = 1, count do
    local messageKey = messageKeys[i]
    local id = known[i + 1] or older[i] or seen[messageKey]
    if id then
      outcomes[i] = -id
    else
      last = last + 1
      lastText = string.format('%d', last)
      local entry = lastText .. stamp .. authors[i] .. '\0' .. bodies[i]
      fresh = fresh + 1
      entries[fresh] = entry
      added = added + #entry
      newKeys[2 * fresh - 1], newKeys[2 * fresh] = messageKey, lastText
      seen[messageKey] = lastText
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
      -- UNLINK first: RENAME would free a large hash while all clients wait.
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
    redis.call('HSET', ids, messageKeys[1], lastText)
    stored = redis.call('RPUSH', log, entries[1])
  else
    redis.call('HSET', ids, unpack(newKeys))
    stored = redis.call('RPUSH', log, unpack(entries))
  end

  bytes = stored == fresh and added or bytes + added
  local step = keepMs / WINDOWS
  local isDue = stored == fresh or moment - moment % step ~= lastAt - lastAt % step
  lastAt = moment
  if isDue then
    redis.call('PEXPIRE', log, math.ceil(keepMs + step))
  end
  isDue = isDue or isNth
  if isDue and stored > 1 or stored > maxMessages or bytes > maxBytes then
    local before = stored
    local kept = stored - MOST_DROPPED
    if stored > maxMessages then
      local surplus = math.min(stored - maxMessages, MOST_DROPPED)
-- include log.pop.part.lua
    end
    local oldest = isDue and redis.call('LINDEX', log, 0)
    while
      stored > 1
      and stored > kept
      and (bytes > maxBytes or oldest and moment - string.match(oldest, '^%d+:%a?(%d+)') >= keepMs)
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
