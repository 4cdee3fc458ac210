#!lua flags=allow-oom
-- Takes votes back from members, and notifies the waiters. Repeating a call is safe. O(votes + waiting processes).
--
-- KEYS
--   votes...     STRING member, one for each lock; until its lease ends
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   withdrawals...  two for each vote: member, notifies ('0' after a failed attempt: other failed candidates try again by
--                themselves, and would wake each other endlessly)
-- RETURNS
--   for each vote: 1 if the member had it, else 0
local publish = ARGV[1]
local replies = {}
for i = 1, #KEYS do
  local vote, member = KEYS[i], ARGV[2 * i]
  local holder = redis.call('GET', vote)
  local isHolder = holder and holder == member
  if isHolder then
    redis.call('DEL', vote)
    if ARGV[2 * i + 1] == '1' then redis.call(publish, string.gsub(vote, 'vote$', 'vote-updates'), '*:') end
  end
  replies[i] = isHolder and 1 or 0
end
return replies
