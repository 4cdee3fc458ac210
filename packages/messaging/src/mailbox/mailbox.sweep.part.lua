-- What has expired gives its place up: a mark stands there from now on, which isn't counted.
-- Expects mailbox, log, uncounted and expiring (keys), marksMs. Leaves:
--   now         the server's time, ms since 1970
--   hasMore     more has expired than is done in one call
--   hasMarks    some expired: cursors may step over them
--   last, base  the newest id, and the one before the oldest entry; only with hasMarks
local MOST_EXPIRED = 500
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_EXPIRED)
local hasMarks, hasMore, last, base = false, #expired == MOST_EXPIRED, nil, nil
if #expired > 0 then
  redis.call('ZREM', expiring, unpack(expired))
  local scores = redis.call('ZMSCORE', mailbox, '\0b', '\0l')
  local bytes = 0 - (scores[1] or 0)
  last = 0 - (scores[2] or 0)
  base = last - redis.call('LLEN', log)
  local marks = {}
  for i = 1, #expired do
    local id = expired[i]
    local place = id - base - 1
    -- Without a head there are no numbers, and no entry is found; the next message begins anew.
    local entry = place >= 0 and redis.call('LINDEX', log, place)
    if entry then
      local mark = id .. ':X' .. string.match(entry, ':(%d+:)')
      redis.call('LSET', log, place, mark)
      bytes = bytes - #entry + #mark
      marks[#marks + 1], marks[#marks + 2] = id, id
    end
  end
  if #marks > 0 then
    hasMarks = true
    redis.call('ZADD', mailbox, 0 - bytes, '\0b')
    redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', base)
    redis.call('ZADD', uncounted, unpack(marks))
    redis.call('PEXPIRE', uncounted, marksMs)
  end
end
