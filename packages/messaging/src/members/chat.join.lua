#!lua
-- Adds members to a chat, after its newest message. Existing members are not changed.
--
-- KEYS
--   chat         ZSET, see src/keys.ts
--   log          LIST of entries
--   joined       ZSET member -> id; PEXPIRE
--   left         ZSET member -> instant of a removed index entry, ms; only read
--   events       channel of the chat; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   maxMembers   count
--   keepMs       ms until a message may be dropped
--   joins...     for each: the member as stored; the fraction of their role; the instant (ms) after which readers may have
--                removed the entry of their index; the instant of that entry
-- RETURNS
--   the server's time, ms; then for each join: 1 new and their cursor; 0 a member before and their cursor; -1 too many members
--   and their number; -2 too late and the instant of the removed entry, 0 for none
--   nil: there is no such chat
local chat, log, joined, left, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local publish, maxMembers, keepMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local HEAD_SIZE, WINDOWS = 4, 64

local last = redis.call('ZSCORE', chat, '\0l')
if not last then
  return false
end
last = -last
-- include server.now.part.lua
local members = redis.call('ZCARD', chat) - HEAD_SIZE
local replies, written, ids, frames, seen = { now }, {}, {}, {}, {}
for i = 4, #ARGV, 4 do
  local name = ARGV[i]
  local score = seen[name] or redis.call('ZSCORE', chat, name)
  local leftAt = not score and tonumber(redis.call('ZSCORE', left, name)) or 0
  local outcome, detail = 1, last
  if score then
    outcome, detail = 0, math.floor(tonumber(score))
  elseif now > tonumber(ARGV[i + 2]) or leftAt >= tonumber(ARGV[i + 3]) then
    outcome, detail = -2, leftAt
  elseif members >= maxMembers then
    outcome, detail = -1, members
  else
    score = last + tonumber(ARGV[i + 1])
    members = members + 1
    seen[name] = score
    written[#written + 1] = score
    written[#written + 1] = name
    ids[#ids + 1] = last
    ids[#ids + 1] = name
    frames[#frames + 1] = struct.pack('>c1Ic0', 'j', #name, name)
  end
  replies[#replies + 1] = outcome
  replies[#replies + 1] = detail
end
if #written > 0 then
  redis.call('ZADD', chat, unpack(written))
  -- Stored entries are not for new members, who may have been members before. An empty log needs no record of that.
  local stored = redis.call('LLEN', log)
  if stored > 0 then
    redis.call('ZREMRANGEBYSCORE', joined, '-inf', last - stored)
    redis.call('ZADD', joined, unpack(ids))
    -- Longer than any entry that is stored now can stay.
    redis.call('PEXPIRE', joined, math.ceil(2 * (keepMs + keepMs / WINDOWS)))
  else
    redis.call('UNLINK', joined)
  end
  redis.call(publish, events, '*:' .. table.concat(frames))
end
return replies
