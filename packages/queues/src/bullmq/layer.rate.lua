#!lua flags=no-writes
-- How far the rate of the BullMQ layer is used up. By the clock of the server, which is that of the stored instant: a clock in whole
-- milliseconds would count a job too many.
--
-- KEYS
--   rate              STRING until when the rate of the queue is used up, ms
-- RETURNS
--   the milliseconds until then, with a fraction; nil: no job has used it
local rate = KEYS[1]
local usedUntil = redis.call('GET', rate)
if not usedUntil then
  return nil
end
-- include server.time.part.lua
return string.format('%.3f', usedUntil - time[1] * 1000 - time[2] / 1000)
