#!lua flags=allow-oom
-- Takes votes back from members that have them, and tells those who wait. Repeating a call is safe. O(votes + waiting processes).
--
-- KEYS
--   votes...     STRING member, one for each lock; until its lease ends
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   leavers...   two for each vote: member ('*': whoever has it), isNews ('0' after an attempt that failed: whoever else
--                failed tries again by itself, and waking all of them would never end)
-- RETURNS
--   for each vote: 1 if the member had it, else 0
local publish = ARGV[1]
local replies = {}
for i = 1, #KEYS do
  local vote, member = KEYS[i], ARGV[2 * i]
  local holder = redis.call('GET', vote)
  local isHolder = holder and (holder == member or member == '*')
  if isHolder then
    redis.call('DEL', vote)
    if ARGV[2 * i + 1] == '1' then redis.call(publish, string.gsub(vote, 'vote$', 'vote-news'), '*:') end
  end
  replies[i] = isHolder and 1 or 0
end
return replies
