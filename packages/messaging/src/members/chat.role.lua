#!lua
-- Changes the role of a member.
--
-- KEYS
--   chat         ZSET, see src/keys.ts
-- ARGV
--   member       as stored
--   fraction     of the role
--   by           the member who changes the role, as stored: must be an owner; '': not checked
-- RETURNS
--   1 done, 0 there is no such chat, -1 `member` is not in it, -2 `by` is not in it, -3 `by` is not an owner
local chat = KEYS[1]
local member, fraction, by = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local OWNER = 0.5

local scores = redis.call('ZMSCORE', chat, '\0l', member, by)
if not scores[1] then
  return 0
elseif by ~= '' and not scores[3] then
  return -2
elseif by == member and tonumber(scores[3]) % 1 == fraction then
  -- An owner who gives up their own role may send this twice, when the first reply was lost.
  return 1
elseif by ~= '' and tonumber(scores[3]) % 1 ~= OWNER then
  return -3
elseif not scores[2] then
  return -1
end
redis.call('ZADD', chat, math.floor(tonumber(scores[2])) + fraction, member)
return 1
