-- Frees the messages that all devices of a mailbox have acked. Cursors first step over tombstones that follow them: otherwise
-- a mailbox whose messages all expire would keep the tombstones. Expects mailbox, log, uncounted and expiring (keys), last,
-- base (the id before the oldest entry).
local MOST_STEPS = 1000
local cursors, keepAcked = mailbox, 0
local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')
-- Without a device, all messages are kept for one that is added later.
local floor = tonumber(slowest[2] or base)
if floor >= base and floor < last and redis.call('EXISTS', uncounted) == 1 then
  local to = floor
  while to < last and to - floor < MOST_STEPS and string.find(redis.call('LINDEX', log, to - base), '^%d+:X') do
    to = to + 1
  end
  if to > floor and slowest[2] then
    local devices = redis.call('ZRANGEBYSCORE', mailbox, floor, '(' .. to)
    for i = 1, #devices do
      if string.byte(devices[i]) ~= 0 then
        redis.call('ZADD', mailbox, 'XX', 'GT', to, devices[i])
      end
    end
    floor = tonumber(redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')[2])
  end
end
if floor > base then
  local first, final = base + 1, floor
-- include mailbox.unexpire.part.lua
-- include log.trim.part.lua
end
