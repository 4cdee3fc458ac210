#!lua
-- Releases the lease of a change feed, so that another feed need not wait for its end.
--
-- KEYS
--   feed  STRING, the token of the holder; and the channel of waiting feeds
-- ARGV
--   publish  PUBLISH or SPUBLISH
--   token    of the releasing feed
-- RETURNS
--   1 if it was the holder, else 0
local feed = KEYS[1]
local publish, token = ARGV[1], ARGV[2]

if redis.call('GET', feed) ~= token then
  return 0
end
redis.call('UNLINK', feed)
redis.call(publish, feed, '*:')
return 1
