#!lua flags=allow-oom
-- Ends a file, complete or aborted. Repeating it changes nothing.
--
-- KEYS
--   file         HASH, see src/files/keys.ts
--   cursors      ZSET receiver -> position
--   events       channel; not a key
--   chunks...    the empty key of the next chunk; if aborted, then the stored chunks
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   token        of the writer
--   state        closed or aborted
--   detail       the SHA-256 in hex, or the reason
--   keepMs        ms
--   written      number of chunks that the writer has written, if closed
-- RETURNS
--   1, also when this writer has ended it so before, or 2 when no receiver needs the closed file; 0 when it had ended otherwise;
--   -1: another writer has the file, or its head is deleted; -3: a failover has lost chunks, and the file stays open
local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]
local publish, token, state, detail, keepMs, written = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])

local n, held, present, freedBytes, stored = unpack(redis.call('HMGET', file, 'n', 'token', 'state', 'freedBytes', 'stored'))
-- The head of an aborted file stays until its id is free, see src/files/completion.ts.
local isNeeded = state == 'aborted' or redis.call('EXISTS', cursors) == 1
if held ~= token then
  return -1
elseif present ~= 'open' then
  return present ~= state and 0 or isNeeded and 1 or 2
elseif state == 'closed' and tonumber(n) < written then
  return -3
end
for i = 4, #KEYS do
  redis.call('UNLINK', KEYS[i])
end
if state == 'aborted' then
  redis.call('HSET', file, 'freed', n, 'freedBytes', stored)
  freedBytes = stored
end
redis.call('HSET', file, 'state', state, 'detail', detail, 'lease', '0')
redis.call('PEXPIRE', cursors, keepMs)
redis.call('PEXPIRE', file, keepMs)
redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' ' .. state)
return isNeeded and 1 or 2
