-- The end of the scripts that change a semaphore; see semaphore.change.part.lua. Expects permits and state.
if isChanged then
  local packed = cmsgpack.pack(limit, used, token, at, ahead, began, lostUntil, reported)
  if hasNewPermits or isNew then
    redis.call('SET', state, packed, 'PX', KEEP_MS)
  else
    redis.call('SET', state, packed, 'KEEPTTL')
  end
  if hasNewPermits then redis.call('PEXPIRE', permits, KEEP_MS) end
end
