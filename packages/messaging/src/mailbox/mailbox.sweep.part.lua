-- Replaces expired messages by tombstones, which are not counted. Expects mailbox, log, uncounted and expiring (keys),
-- tombstoneMs. Results:
--   now         the server's time, ms since 1970
--   hasMore     more has expired than one call removes
--   hasTombstones  messages expired: cursors may step over them
--   last, base  the newest id, and the id before the oldest entry; only with hasTombstones
local MOST_EXPIRED = 500
-- include server.now.part.lua
local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_EXPIRED)
local hasTombstones, hasMore, last, base = false, #expired == MOST_EXPIRED, nil, nil
if #expired > 0 then
  redis.call('ZREM', expiring, unpack(expired))
  local scores = redis.call('ZMSCORE', mailbox, '\0b', '\0l')
  local bytes = 0 - (scores[1] or 0)
  last = 0 - (scores[2] or 0)
  base = last - redis.call('LLEN', log)
  local tombstones = {}
  for i = 1, #expired do
    local id = expired[i]
    local place = id - base - 1
    -- Without a head there is no numbering, and no entry is found: the next message begins a new one.
    local entry = place >= 0 and redis.call('LINDEX', log, place)
    if entry then
      local tombstone = id .. ':X' .. string.match(entry, ':(%d+:)')
      redis.call('LSET', log, place, tombstone)
      bytes = bytes - #entry + #tombstone
      tombstones[#tombstones + 1], tombstones[#tombstones + 2] = id, id
    end
  end
  if #tombstones > 0 then
    hasTombstones = true
    redis.call('ZADD', mailbox, 0 - bytes, '\0b')
    redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', base)
    redis.call('ZADD', uncounted, unpack(tombstones))
    redis.call('PEXPIRE', uncounted, tombstoneMs)
  end
end
