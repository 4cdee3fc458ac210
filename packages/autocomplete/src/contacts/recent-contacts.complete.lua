#!lua flags=no-writes
-- Finds the contacts whose normalized form begins with a prefix.
--
-- KEYS
--   contacts   LIST of entries, the last touched first, or ZSET entry -> rank; until it is empty, or keepMs after its last change
-- ARGV
--   isRanked   1 for a ZSET, else 0
--   prefix     normalized text; empty: every contact matches
--   limit      maximum of contacts to return
-- RETURNS
--   the contacts, the last touched or the best first
local contacts = KEYS[1]
local isRanked, prefix, limit = ARGV[1] == '1', ARGV[2], tonumber(ARGV[3])

local sub, find, length = string.sub, string.find, #prefix
local matches = {}
local entries = redis.call(isRanked and 'ZRANGE' or 'LRANGE', contacts, 0, -1)
for index = 1, #entries do
  local entry = entries[index]
  if sub(entry, 1, length) == prefix then
    local separator = find(entry, '\0', 1, true)
    matches[#matches + 1] = separator and sub(entry, separator + 1) or entry
    if #matches == limit then
      break
    end
  end
end
return matches
