#!lua flags=allow-oom
-- Renews or releases the lease of a writer.
--
-- KEYS
--   file         HASH, see src/files/keys.ts
--   cursors      ZSET receiver -> position
--   events       channel; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   token        of the writer
--   chunks       that it has committed
--   leaseMs      ms; 0 releases the lease
-- RETURNS
--   number of freed bytes so far, headers included; -1: another writer has the file; -2: it is no longer open; -4: no receiver is
--   left; -3: a failover has lost chunks
local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]
local publish, token, chunks, leaseMs = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local held, state, freedBytes, n = unpack(redis.call('HMGET', file, 'token', 'state', 'freedBytes', 'n'))
if held ~= token then
  return -1
elseif state ~= 'open' then
  return -2
elseif leaseMs > 0 and tonumber(n) < chunks then
  return -3
end
-- include server.time.part.lua
redis.call('HSET', file, 'lease', string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000) + leaseMs))
if leaseMs == 0 then
  redis.call(publish, events, '*:released')
end
return redis.call('EXISTS', cursors) == 0 and -4 or tonumber(freedBytes)
