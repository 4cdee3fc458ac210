-- Result: now, the server's time, ms since 1970.
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
