-- Whether the lease of whoever counts a file has ended: another worker may have counted it since, and forgotten how far.
local function isLate(untilMs)
  if untilMs == 0 then return false end
  -- include server.time.part.lua
  return time[1] * 1000 + math.floor(time[2] / 1000) >= untilMs
end
