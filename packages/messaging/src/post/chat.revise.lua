#!lua
-- Edits or deletes a message in place, and appends an event for members who have read it already.
--
-- KEYS
--   chat         ZSET, see src/keys.ts
--   log          LIST of entries, see src/log/entry.ts; PEXPIRE
--   uncounted    ZSET id -> id; PEXPIRE
--   ids          HASH message key -> id, see src/log/message-key.ts; PEXPIRE
--   oldIds       HASH, the generation before
--   events       channel of the chat; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   limits       five f64: keepMs, dedupMs, maxMessages, maxBytes, keepAcked
--   kind         E edit, D delete
--   sender       as stored
--   message      id of the message
--   messageKey   of the event
--   body         the new body; '' for D
-- RETURNS
--   { id, last, … }: the id of the event, or -id when its key was known; the newest id; then the first and the last dropped
--   id, if messages were dropped
--   { 0, last, reason }: N not a member, R a reader, M the message is not stored, A neither the author nor (for D) an owner
--   nil: there is no such chat
local chat, log, uncounted, ids, oldIds, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local publish, limits, kind, sender = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local message, messageKey, body = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local READER, OWNER = 0.25, 0.5

local head = redis.call('ZMSCORE', chat, '\0b', '\0e', '\0l', '\0t', sender)
if not head[2] then
  return false
end
-- `0 - head[n]`, since `-head[n]` turns 0 into -0.
local bytes, epoch, last, lastAt = 0 - head[1], 0 - head[2], 0 - head[3], 0 - head[4]
-- Before the check of the sender, who may have left after the first call, whose reply was lost.
local before = redis.call('HGET', ids, messageKey) or redis.call('HGET', oldIds, messageKey)
if before then
  return { -before, last }
end
local score = tonumber(head[5])
local role = score and score % 1
if not role or role == READER then
  return { 0, last, role and 'R' or 'N' }
end

local index = message - 1 - last + redis.call('LLEN', log)
local entry = index >= 0 and message <= last and redis.call('LINDEX', log, index)
local changed
if entry then
  local was, at, payload = string.match(entry, '^%d+:(%a?)(%d+):(.*)$')
  if was == 'X' and kind == 'D' then
    return { -payload, last }
  elseif was ~= '' then
    return { 0, last, 'M' }
  end
  local isAuthor = string.sub(payload, 1, #sender + 1) == sender .. '\0'
  if not isAuthor and not (kind == 'D' and role == OWNER) then
    return { 0, last, 'A' }
  end
  if kind == 'E' then
    changed = string.format('%d:', message) .. at .. ':' .. sender .. '\0' .. body
  else
    changed = string.format('%d:X%s:%d', message, at, last + 1)
  end
elseif kind == 'E' or role ~= OWNER or message > last then
  -- A message that is not stored has no known author, so only an owner may delete it.
  return { 0, last, 'M' }
end

local keepMs, dedupMs, maxMessages, maxBytes, keepAcked = struct.unpack('>ddddd', limits)
-- include server.now.part.lua
if changed then
  redis.call('LSET', log, index, changed)
  bytes = bytes - #entry + #changed
end
local count, messageKeys, authors = 1, { messageKey }, { sender }
local bodies = { string.format('%d', message) .. (kind == 'E' and '\0' .. body or '') }
-- include log.append.part.lua
redis.call('ZADD', uncounted, last, last)
if changed and kind == 'D' then
  redis.call('ZADD', uncounted, message, message)
end
redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', last - stored)
-- Longer than any stored entry lasts.
redis.call('PEXPIRE', uncounted, math.ceil(2 * (keepMs + keepMs / WINDOWS)))

local isOwnMoved = last - score <= 1
local operands = { -bytes, '\0b', -last, '\0l', -lastAt, '\0t' }
if isOwnMoved then
  operands[7], operands[8] = score + 1, sender
end
redis.call('ZADD', chat, unpack(operands))
redis.call(publish, events, '*:' .. struct.pack('>c1Ic0', 'm', #entries[1], entries[1]))
if keepAcked > 0 or isOwnMoved and stored == 1 then
  local cursors = chat
  local floor = math.floor(tonumber(redis.call('ZRANGE', chat, 4, 4, 'WITHSCORES')[2]))
  if floor > last - stored then
-- include log.trim.part.lua
  end
end
local reply = { last, last }
if droppedTo > 0 then
  reply[3], reply[4] = droppedFrom, droppedTo
end
return reply
