#!lua
-- Creates a chat with its members and a first message, if any. An existing chat is left alone.
--
-- KEYS
--   chat         ZSET, see src/keys.ts; until its last member leaves
--   log          LIST of entries; PEXPIRE
--   uncounted    ZSET id -> id
--   joined       ZSET member -> id
--   ids          HASH message key -> id; PEXPIRE
--   oldIds       HASH, the generation before
--   ended        STRING, the epoch of the chat of this name that ended last; see chat.leave.lua
--   left         ZSET member -> instant of a removed index entry, ms; only read
--   events       channel of the chat; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   keepMs       ms until a message may be dropped
--   dedupMs      ms for which a message key is remembered
--   keepAcked    number of newest messages to keep when all members have acked them
--   notAfter     ms; later, readers may have removed the entries of the chat in the members' indexes
--   notBefore    ms; the lowest epoch: an earlier chat, unknown to this server, had a lower one
--   indexedFrom  the lowest instant (ms) of the entries in the members' indexes
--   messageKey   of the first message; '' when there is none, or the caller gave no id
--   body         of the first message; '' when there is none
--   sender       as stored
--   others...    the other members, as stored, none twice
-- RETURNS
--   { 1 created, 0 it existed, -1 too late; the id of the first message, also if it was stored before, or 0 (too late: the highest
--   instant of a removed index entry); the server's time, ms }
local chat, log, uncounted, joined = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ids, oldIds, ended, left, events = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local publish, keepMs, dedupMs, keepAcked = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local notAfter, notBefore, indexedFrom = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local messageKey, body, sender = ARGV[8], ARGV[9], ARGV[10]
local OWNER, WINDOWS, MOST_OPERANDS = 0.5, 64, 1000

-- include server.now.part.lua
if redis.call('EXISTS', chat) == 1 then
  local id
  if messageKey ~= '' then
    id = redis.call('HGET', ids, messageKey) or redis.call('HGET', oldIds, messageKey)
  elseif body ~= '' and redis.call('LINDEX', log, 0) == '1:0:' .. sender .. '\0' .. body then
    id = 1
  end
  return { 0, tonumber(id or 0), now }
end
-- Includes entries of other members; that costs at most one more round trip.
local leftAt = tonumber(redis.call('ZRANGE', left, -1, -1, 'WITHSCORES')[2]) or 0
if now > notAfter or leftAt >= indexedFrom then
  return { -1, leftAt, now }
end

-- The clock alone is not enough: two chats may be created in one ms, and clocks may be set back, or differ after a failover.
local epoch = math.max(now, notBefore, (redis.call('GET', ended) or 0) + 1)
-- Remains of a chat without a head (evicted, deleted by hand) would mix with new ids.
redis.call('UNLINK', log, uncounted, joined, ids, oldIds)
local others = #ARGV - 10
local last = body == '' and 0 or 1
local entry = '1:0:' .. sender .. '\0' .. body
local isStored = last == 1 and (others > 0 or keepAcked > 0)
local written = {
  isStored and -#entry or 0, '\0b', -epoch, '\0e', 0 - last, '\0l', 0, '\0t', last + OWNER, sender,
}
local frames = { struct.pack('>c1Ic0', 'j', #sender, sender) }
for i = 11, #ARGV do
  local name = ARGV[i]
  written[#written + 1] = 0
  written[#written + 1] = name
  if #written >= MOST_OPERANDS then
    redis.call('ZADD', chat, unpack(written))
    written = {}
  end
  frames[#frames + 1] = struct.pack('>c1Ic0', 'j', #name, name)
end
if #written > 0 then
  redis.call('ZADD', chat, unpack(written))
end
if isStored then
  redis.call('RPUSH', log, entry)
  redis.call('PEXPIRE', log, math.ceil(keepMs + keepMs / WINDOWS))
end
if last == 1 then
  frames[#frames + 1] = struct.pack('>c1Ic0', 'm', #entry, entry)
end
if messageKey ~= '' then
  redis.call('HSET', ids, '', 0, messageKey, 1)
  redis.call('PEXPIRE', ids, 2 * dedupMs)
end
redis.call(publish, events, '*:' .. table.concat(frames))
return { 1, last, now }
