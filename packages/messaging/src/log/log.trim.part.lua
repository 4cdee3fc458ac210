-- Frees the entries that all members or devices have acked, except the newest ones that are kept for history.
-- Expects:
--   cursors, log       keys; cursors is the set with the head
--   uncounted          key, or nil: then another script removes its ids up to the base, which no script counts
--   last, floor        the newest id, the lowest cursor
--   keepAcked          number of acked entries to keep
if floor >= last and keepAcked == 0 then
  redis.call('UNLINK', log, uncounted or log)
else
  local stored, bytes = redis.call('LLEN', log), 0
  local freedTo = math.min(floor, last - keepAcked)
  local kept = last - freedTo
  if stored > kept then
    while stored > kept do
      local surplus = math.min(stored - kept, 1000)
-- include log.pop.part.lua
    end
    redis.call('ZINCRBY', cursors, 0 - bytes, '\0b')
    if uncounted then
      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)
    end
  end
end
