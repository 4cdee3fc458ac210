#!lua flags=allow-oom
-- The stored entries of a chat after an id. Not flagged as no-writes: the master has to answer, since a replica may lag behind a
-- push.
--
-- KEYS
--   chat         ZSET of the head and the members
--   log          LIST of entries
-- ARGV
--   after        id
--   maxEntries   entries at most
--   maxBytes     of entries at most; one entry is returned whatever its size
-- RETURNS
--   { epoch, last id, base: no id up to it is stored, entries... }; {} when there is no chat
local chat, log = KEYS[1], KEYS[2]
local after, maxEntries, maxBytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local head = redis.call('ZMSCORE', chat, '\0e', '\0l', '\0b')
if not head[1] then
  return {}
end
local last = -head[2]
local stored = redis.call('LLEN', log)
local base = last - stored
local reply = { -head[1], last, base }
if stored > 0 then
  -- As many as fit if they have the usual size; of larger ones some are read in vain.
  local usual = math.max(1, -head[3] / stored)
  local first = math.max(0, after - base)
  local count = math.max(1, math.min(maxEntries, math.ceil(maxBytes / usual)))
  local bytes = 0
  for index, entry in ipairs(redis.call('LRANGE', log, first, first + count - 1)) do
    bytes = bytes + #entry
    if index > 1 and bytes > maxBytes then
      break
    end
    reply[index + 3] = entry
  end
end
return reply
