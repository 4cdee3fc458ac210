-- Remembers index entries that are about to be removed. A join that began under one of them and is still under way is
-- refused, and indexes again. Forgets entries that are too old for such a join. Expects left (key), and gone: an array of
-- instants and members.
if #gone > 0 then
  local MINUTE, HOUR = 60000, 3600000
  -- include server.time.part.lua
  redis.call('ZREMRANGEBYSCORE', left, '-inf', time[1] * 1000 - HOUR)
  redis.call('ZADD', left, unpack(gone))
  redis.call('PEXPIRE', left, MINUTE)
end
