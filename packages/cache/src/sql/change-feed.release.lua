#!lua
-- Gives the lease of a change feed back, so that another one need not wait for its end.
--
-- KEYS
--   feed  STRING, the token of the holder; and the channel of those that wait
-- ARGV
--   publish  PUBLISH or SPUBLISH
--   token    of the one that had it
-- RETURNS
--   1 if it still had it, else 0
local feed = KEYS[1]
local publish, token = ARGV[1], ARGV[2]

if redis.call('GET', feed) ~= token then
  return 0
end
redis.call('UNLINK', feed)
redis.call(publish, feed, '*:')
return 1
