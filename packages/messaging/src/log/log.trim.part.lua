-- Frees the entries that all members or devices have acked, except the newest ones that are kept for history.
-- Expects:
--   cursors, log       keys; cursors is the set with the head
--   uncounted          key, or nil: then another script removes its ids up to the base, which no script counts
--   last, floor        the newest id, the lowest cursor
--   keepAcked          number of acked entries to keep
if floor >= last and keepAcked == 0 then
  redis.call('UNLINK', log, uncounted or log)
else
  local stored = redis.call('LLEN', log)
  local freedTo = math.min(floor, last - keepAcked)
  local surplus, freedBytes = freedTo - last + stored, 0
  if surplus > 0 then
    while surplus > 0 do
      local popped = redis.call('LPOP', log, math.min(surplus, 1000))
      for i = 1, #popped do
        freedBytes = freedBytes + #popped[i]
      end
      surplus = surplus - #popped
    end
    redis.call('ZINCRBY', cursors, freedBytes, '\0b')
    if uncounted then
      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)
    end
  end
end
