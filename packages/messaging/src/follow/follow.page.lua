#!lua flags=allow-oom
-- What a chat has stored behind an id. Not flagged as one that only reads, so that it is always the master that
-- answers: a replica may not know yet what was pushed.
--
-- KEYS
--   chat         ZSET of the head and the members
--   log          LIST of entries
-- ARGV
--   after        id
--   most         entries
--   mostBytes    bytes of entries; one is returned, whatever it has
-- RETURNS
--   the epoch, the last id, the base (no id up to it is stored) and the entries; nothing when there is no chat
local chat, log = KEYS[1], KEYS[2]
local after, most, mostBytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local head = redis.call('ZMSCORE', chat, '\0e', '\0l', '\0b')
if not head[1] then
  return {}
end
local last = -head[2]
local stored = redis.call('LLEN', log)
local base = last - stored
local reply = { -head[1], last, base }
if stored > 0 then
  -- As many as fit if they have the usual size: of larger ones some are read in vain.
  local usual = math.max(1, -head[3] / stored)
  local first = math.max(0, after - base)
  local count = math.max(1, math.min(most, math.ceil(mostBytes / usual)))
  local bytes = 0
  for index, entry in ipairs(redis.call('LRANGE', log, first, first + count - 1)) do
    bytes = bytes + #entry
    if index > 1 and bytes > mostBytes then
      break
    end
    reply[index + 3] = entry
  end
end
return reply
