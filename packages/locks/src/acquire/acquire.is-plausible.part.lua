-- Whether a holder's fencing token can be real: 16 digits, and at most a day ahead of the clock, which may have been set
-- back. All later tokens are greater, so a wrong one would exhaust them.
local function isPlausible(fencingToken)
  if #fencingToken ~= 16 or string.find(fencingToken, '%D') then return false end
  -- include server.time.part.lua
  return fencingToken - time[1] * 1000000 <= 86400000000
end
