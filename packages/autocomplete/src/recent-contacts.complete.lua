#!lua flags=no-writes
-- Finds the contacts whose normalized form begins with a prefix.
--
-- KEYS
--   recent     LIST of entries, the last touched first; until it is empty or idle
-- ARGV
--   prefix     normalized text; empty: every contact matches
--   limit      the most contacts to return
-- RETURNS
--   the contacts in their display form, the last touched first
local recent = KEYS[1]
local prefix, limit = ARGV[1], tonumber(ARGV[2])

local sub, find, length = string.sub, string.find, #prefix
local matches = {}
local entries = redis.call('LRANGE', recent, 0, -1)
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
