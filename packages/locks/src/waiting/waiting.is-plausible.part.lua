-- Whether a fencing token that a holder tells can be one that it was given: 16 digits, and no more than a day ahead of the
-- clock, which may have been set back. It becomes the floor of all further tokens, so with another one they would be too
-- low, or come to an end.
local function isPlausible(fencingToken)
  if #fencingToken ~= 16 or string.find(fencingToken, '%D') then return false end
  local time = redis.call('TIME')
  return fencingToken - time[1] * 1000000 <= 86400000000
end
