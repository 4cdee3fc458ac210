-- Remembers which entries of indexes are about to be removed: a join that began under one of them, and is still on its way, has
-- to index again. Entries that no such join can have are dropped.
-- Expects left (key), and gone, an array of: instant of the entry, member.
if #gone > 0 then
  local MINUTE, HOUR = 60000, 3600000
  local time = redis.call('TIME')
  redis.call('ZREMRANGEBYSCORE', left, '-inf', time[1] * 1000 - HOUR)
  redis.call('ZADD', left, unpack(gone))
  redis.call('PEXPIRE', left, MINUTE)
end
