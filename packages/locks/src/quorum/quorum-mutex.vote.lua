#!lua
-- Gives votes of this node to members, or extends the votes that they have. Repeating a call is safe. O(votes).
--
-- KEYS
--   votes...     STRING member, one for each lock; until its lease ends
-- ARGV
--   requests...  three for each vote: member, leaseMs (ms from now), isNew ('1': take a free vote; '0': don't)
-- RETURNS
--   for each vote: 1 if the member has it now, else 0; its remaining lease (ms, -2 if it is free); its holder or ''
local replies = {}
for i = 1, #KEYS do
  local vote, member, leaseMs = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1]
  local holder
  if ARGV[3 * i] == '1' then
    holder = redis.call('SET', vote, member, 'NX', 'GET', 'PX', leaseMs) or member
  else
    holder = redis.call('GET', vote) or ''
  end
  if holder == member then redis.call('PEXPIRE', vote, leaseMs, 'GT') end
  replies[i] = {holder == member and 1 or 0, redis.call('PTTL', vote), holder}
end
return replies
